//! How much of a GPU's memory Sluice takes when no setting says it.

use sluice_cuda::FreeMemory;

/// An eighth of the card, but no more than half of what is free now. RAPIDS, where it is used, has taken its pool
/// before, and a task of ours needs some tens of MiB.
pub fn default_limit(memory: FreeMemory) -> usize {
    let limit = (memory.total_bytes / 8).min(memory.free_bytes / 2);
    usize::try_from(limit).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_leave_is_shared_with_them() {
        const GIB: u64 = 1 << 30;
        let limit = |free_bytes, total_bytes| default_limit(FreeMemory { free_bytes, total_bytes }) as u64;
        assert_eq!(limit(79 * GIB, 80 * GIB), 10 * GIB);
        assert_eq!(limit(8 * GIB, 80 * GIB), 4 * GIB, "RAPIDS has the rest");
        assert_eq!(limit(0, 80 * GIB), 0);
    }
}
