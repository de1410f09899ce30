//! How long the tests of the GPU crates may take.

/// `all` has them try as much as they can; else each takes a few seconds.
const VARIABLE: &str = "SLUICE_TEST_GPU_KERNELS";

/// Whether the long form of the tests is asked for.
pub fn long_tests() -> bool {
    std::env::var_os(VARIABLE).is_some_and(|value| value == "all")
}
