//! The crate's tests, as one program: each program more would be linked with all of the crate again. Those that count
//! allocations are programs of their own.

#[path = "corrupt_tails.rs"]
mod corrupt_tails;
#[path = "round_trip.rs"]
mod round_trip;
#[path = "sealed_vector.rs"]
mod sealed_vector;
#[path = "vectors.rs"]
mod vectors;
