//! The crate's tests, as one program: each program more would be linked with all of the crate again. Those that count
//! allocations are programs of their own.

#[path = "frames.rs"]
mod frames;
#[path = "hostile.rs"]
mod hostile;
#[path = "pages.rs"]
mod pages;
#[path = "partitions.rs"]
mod partitions;
#[path = "vectors.rs"]
mod vectors;
