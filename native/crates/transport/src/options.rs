//! How a transport is set up, and what the machine allows of it.

use std::path::PathBuf;
use std::time::Duration;

use crate::regions::{LARGE_REGION_BYTES, RegionLimits};
use crate::wire::WireError;

/// How a transport is set up.
#[derive(Clone)]
pub struct TransportOptions {
    /// What peers must prove to know; empty when the application has no secret.
    pub secret: Vec<u8>,
    /// How long a peer may send nothing while this process waits for it. A disk has half of that to bring a block.
    pub timeout: Duration,
    /// How many bytes of files may be mapped and registered at once. Blocks beyond that are answered as busy.
    pub max_mapped_bytes: usize,
    /// How many mappings these may be.
    pub max_mapped_regions: usize,
    /// How many bytes of mapped files that no reader uses are kept mapped and registered.
    pub idle_mapped_bytes: usize,
    /// The most connections at once, in both directions together.
    pub max_connections: usize,
    /// How long a connection that nothing passes over is kept.
    pub connection_idle: Duration,
    /// For measurements beside the bare library: so many gets are under way over each connection, of whole ranges,
    /// whatever their bytes. None: as many as the wire says, in pieces (`plan.rs`).
    #[doc(hidden)]
    pub max_gets: Option<usize>,
    /// Where map outputs will be. With an RDMA device, it is tried at the start how files there can be registered; each
    /// filesystem that has none of them is tried when its first file is mapped.
    pub directories: Vec<PathBuf>,
}

/// Of connections; NICs keep the state of about as many queue pairs at hand.
const MAX_CONNECTIONS: usize = 1024;
/// As Spark's own connections (`spark.network.timeout`).
const CONNECTION_IDLE: Duration = Duration::from_secs(120);

impl Default for TransportOptions {
    fn default() -> Self {
        Self::new(Vec::new(), Duration::from_secs(20), 2 << 30, 16_384)
    }
}

impl TransportOptions {
    /// With these limits, half of which regions that no reader uses may take.
    pub fn new(secret: Vec<u8>, timeout: Duration, max_mapped_bytes: usize, max_mapped_regions: usize) -> Self {
        Self {
            secret,
            timeout,
            max_mapped_bytes,
            max_mapped_regions,
            idle_mapped_bytes: max_mapped_bytes / 2,
            max_connections: MAX_CONNECTIONS,
            connection_idle: CONNECTION_IDLE,
            max_gets: None,
            directories: Vec::new(),
        }
    }

    /// The limits of mapped files that hold on this machine, and in words what had to be reduced.
    ///
    /// # Errors
    /// A limit is so small that no block could be read.
    pub(crate) fn region_limits(&self, machine: &Machine) -> Result<(RegionLimits, Vec<String>), WireError> {
        let mut warnings = Vec::new();
        let (max_bytes, max_regions) = (self.max_mapped_bytes, self.max_mapped_regions);
        if (max_bytes as u64) < LARGE_REGION_BYTES || max_regions == 0 {
            let least = LARGE_REGION_BYTES >> 20;
            return Err(WireError(format!(
                "{max_bytes} bytes in {max_regions} mappings cannot hold a block: at least {least} MiB and one mapping \
                 are needed"
            )));
        }
        // The JVM and other libraries of this process need the other half.
        let allowed_regions = (machine.max_map_count / 2).max(1);
        if max_regions > allowed_regions {
            warnings.push(format!(
                "up to {max_regions} mappings of map outputs were allowed, {allowed_regions} are used: the system \
                 allows this process {} mappings in all (vm.max_map_count)",
                machine.max_map_count
            ));
        }
        // The other half is for what this process receives.
        let allowed_bytes =
            machine.pinnable_bytes.map_or(usize::MAX, |bytes| (bytes / 2).max(LARGE_REGION_BYTES as usize));
        if max_bytes > allowed_bytes {
            warnings.push(format!(
                "up to {} MiB of map outputs were allowed to be mapped, {} MiB are used: with an RDMA device they may \
                 be pinned, and this process may pin {} MiB in all (`ulimit -l`)",
                max_bytes >> 20,
                allowed_bytes >> 20,
                machine.pinnable_bytes.unwrap_or_default() >> 20
            ));
        }
        let max_bytes = max_bytes.min(allowed_bytes);
        let idle_bytes = self.idle_mapped_bytes.min(max_bytes);
        Ok((RegionLimits { max_bytes, max_regions: max_regions.min(allowed_regions), idle_bytes }, warnings))
    }
}

/// What the system allows this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Machine {
    /// Mappings of one process.
    pub(crate) max_map_count: usize,
    /// Bytes that may be pinned, where registering memory may pin it; `None`: any number.
    pub(crate) pinnable_bytes: Option<usize>,
}

/// Linux's default of `vm.max_map_count`.
const USUAL_MAX_MAP_COUNT: usize = 65_530;
/// The bit of the capability to lock memory beyond the limit.
const CAP_IPC_LOCK: u32 = 14;

impl Machine {
    /// This one, for a wire that may pin what it registers, or does not.
    pub(crate) fn of_this_process(pins: bool) -> Self {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        let max_map_count = read("/proc/sys/vm/max_map_count").trim().parse().unwrap_or(USUAL_MAX_MAP_COUNT);
        Self { max_map_count, pinnable_bytes: if pins { pinnable_bytes() } else { None } }
    }
}

/// Bytes that the system lets this process pin (`ulimit -l`); `None`: any number.
pub fn pinnable_bytes() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if may_lock(&status) { None } else { memlock_limit() }
}

/// Whether a process with this `/proc/self/status` may lock as much memory as it likes.
fn may_lock(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask >> CAP_IPC_LOCK & 1 == 1)
}

/// `RLIMIT_MEMLOCK`; `None`: there is no limit.
fn memlock_limit() -> Option<usize> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes to the structure.
    let failed = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut limit) } != 0;
    if failed || limit.rlim_cur == libc::RLIM_INFINITY { None } else { usize::try_from(limit.rlim_cur).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn limits(
        options: &TransportOptions,
        max_map_count: usize,
        pinnable_bytes: Option<usize>,
    ) -> (RegionLimits, Vec<String>) {
        options.region_limits(&Machine { max_map_count, pinnable_bytes }).expect("enough")
    }

    #[test]
    fn the_defaults_hold_on_an_ordinary_machine() {
        let options = TransportOptions::default();
        let (limits, warnings) = limits(&options, USUAL_MAX_MAP_COUNT, None);
        assert_eq!(warnings, Vec::<String>::new());
        assert_eq!(limits, RegionLimits { max_bytes: 2 << 30, max_regions: 16_384, idle_bytes: 1 << 30 });
    }

    #[test]
    fn limits_beyond_the_machines_are_reduced_with_a_warning() {
        let options = TransportOptions { max_mapped_regions: 100_000, ..TransportOptions::default() };
        let (reduced, warnings) = limits(&options, 1000, Some(64 * MIB));
        assert_eq!(reduced, RegionLimits { max_bytes: 32 * MIB, max_regions: 500, idle_bytes: 32 * MIB });
        assert_eq!(warnings.len(), 2);
        assert!(warnings[0].contains("vm.max_map_count") && warnings[0].contains("500 are used"), "{warnings:?}");
        assert!(warnings[1].contains("ulimit -l") && warnings[1].contains("32 MiB are used"), "{warnings:?}");
        let (least, _) = limits(&options, 1, Some(0));
        assert_eq!((least.max_bytes, least.max_regions), (4 * MIB, 1));
    }

    #[test]
    fn limits_that_hold_no_block_are_errors() {
        let machine = Machine { max_map_count: USUAL_MAX_MAP_COUNT, pinnable_bytes: None };
        for (max_mapped_bytes, max_mapped_regions) in [(0, 10), (4 * MIB - 1, 10), (4 * MIB, 0)] {
            let options = TransportOptions { max_mapped_bytes, max_mapped_regions, ..TransportOptions::default() };
            assert!(options.region_limits(&machine).is_err(), "{max_mapped_bytes} {max_mapped_regions}");
        }
    }

    #[test]
    fn the_capability_to_lock_memory_lifts_the_limit() {
        assert!(may_lock("Name:\tjava\nCapEff:\t000001ffffffffff\n"));
        assert!(may_lock("CapEff:\t0000000000004000"));
        assert!(!may_lock("CapPrm:\t0000000000004000\nCapEff:\t0000000000000000"));
        assert!(!may_lock("") && !may_lock("CapEff:\tnone"));
        let machine = Machine::of_this_process(false);
        assert!(machine.max_map_count > 0 && machine.pinnable_bytes.is_none());
    }
}
