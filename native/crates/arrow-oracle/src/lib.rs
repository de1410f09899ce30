//! Tests of `sluice-columns` against arrow-rs, and the figures beside Arrow IPC (`examples/figures.rs`): a crate of its
//! own, so that the others' tests need no Arrow.
