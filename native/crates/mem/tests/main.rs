//! The arena's tests, as one program: each program more would be linked with all of the crate again.

#[path = "conformance.rs"]
mod conformance;
#[path = "decorators.rs"]
mod decorators;
#[path = "footprint.rs"]
mod footprint;
#[path = "model.rs"]
mod model;
#[path = "pressure.rs"]
mod pressure;
#[path = "provider_failure.rs"]
mod provider_failure;
#[path = "purge.rs"]
mod purge;
#[path = "registrable.rs"]
mod registrable;
#[path = "replay.rs"]
mod replay;
#[path = "sanitizer.rs"]
mod sanitizer;
#[path = "statistics.rs"]
mod statistics;
#[path = "stress.rs"]
mod stress;
#[path = "sub_arenas.rs"]
mod sub_arenas;
#[path = "trace.rs"]
mod trace;
