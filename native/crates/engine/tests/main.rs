//! The crate's tests, as one program: each program more would be linked with all of the crate again. Those that count
//! allocations are programs of their own.

#[path = "accelerators.rs"]
mod accelerators;
#[path = "commit_in_parts.rs"]
mod commit_in_parts;
#[path = "map_output_writer.rs"]
mod map_output_writer;
#[path = "merge_calls.rs"]
mod merge_calls;
#[path = "phases.rs"]
mod phases;
#[path = "refused_encodes.rs"]
mod refused_encodes;
