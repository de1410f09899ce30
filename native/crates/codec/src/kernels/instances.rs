//! The loops of `body`, compiled for each instruction set.

use super::{BitRun, Kernels, Stats, body};

/// One set of loops. The CPU features are named once: the compiler may use them in the loops, and `available` asks the
/// CPU for each of them.
macro_rules! kernels {
    ($set:ident, $module:ident, $name:literal, [$($feature:tt),*]) => {
        mod $module {
            use super::{BitRun, Stats, body};
            $(#[target_feature(enable = $feature)])*
            pub(super) unsafe fn stats(values: &[u64]) -> Stats {
                body::stats(values)
            }
            $(#[target_feature(enable = $feature)])*
            pub(super) unsafe fn pack(values: &[u64], base: u64, width: u32, out: &mut [u8]) {
                body::pack(values, base, width, out)
            }
            $(#[target_feature(enable = $feature)])*
            pub(super) unsafe fn unpack(packed: &[u8], width: u32, base: u64, out: &mut [u64]) {
                body::unpack(packed, width, base, out)
            }
            $(#[target_feature(enable = $feature)])*
            pub(super) unsafe fn extract(values: &[u64], runs: &[BitRun], out: &mut [u64]) {
                body::extract(values, runs, out)
            }
            $(#[target_feature(enable = $feature)])*
            pub(super) unsafe fn deposit(values: &mut [u64], runs: &[BitRun], base: u64) {
                body::deposit(values, runs, base)
            }
            $(#[target_feature(enable = $feature)])*
            pub(super) unsafe fn prefix_sum(values: &mut [u64], start: u64, step: u64) {
                body::prefix_sum(values, start, step)
            }
            $(#[target_feature(enable = $feature)])*
            pub(super) unsafe fn gather(
                rows: &[&[u8]],
                words: usize,
                stride: usize,
                columns: &mut [u64],
                portions: &mut Vec<u8>,
            ) -> bool {
                // SAFETY: `Kernels::gather`, the only caller, checked that `words * stride` does not overflow, that
                // `columns` has so many elements and that `stride >= rows.len()`; `body::gather` needs no more.
                unsafe { body::gather(rows, words, stride, columns, portions) }
            }
            pub(super) fn available() -> bool {
                true $(&& std::arch::is_x86_feature_detected!($feature))*
            }
        }
        pub(super) static $set: Kernels = Kernels {
            name: $name,
            available: $module::available,
            stats: $module::stats,
            pack: $module::pack,
            unpack: $module::unpack,
            extract: $module::extract,
            deposit: $module::deposit,
            prefix_sum: $module::prefix_sum,
            gather: $module::gather,
        };
    };
}

kernels!(GENERIC, generic, "generic", []);
#[cfg(target_arch = "x86_64")]
kernels!(AVX2, avx2, "avx2", ["avx2", "bmi1", "bmi2", "lzcnt", "popcnt"]);
#[cfg(target_arch = "x86_64")]
kernels!(
    AVX512,
    avx512,
    "avx512",
    ["avx2", "bmi1", "bmi2", "lzcnt", "popcnt", "avx512f", "avx512bw", "avx512dq", "avx512vl"]
);
