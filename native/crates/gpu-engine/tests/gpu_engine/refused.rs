//! GPUs that cannot be opened as an accelerator: each says why, of the kind that decides what an executor logs, and
//! nothing of the driver's is left behind.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use sluice_codec::{Codec, CodecOptions, Level};
use sluice_cuda::{Driver, ErrorKind};
use sluice_cuda_sim::Simulator;
use sluice_gpu_engine::{Declined, GpuAccelerator, GpuOptions, Use};

use crate::setting::module;

/// What kind of machine is simulated; the kind of the error, and words of it.
const MACHINES: [(&str, ErrorKind, &str); 9] = [
    ("version=11080", ErrorKind::DriverTooOld, "CUDA 11.8"),
    ("init=304", ErrorKind::NoPermission, "cuInit"),
    ("init=802", ErrorKind::DriverFailed, "cuInit"),
    ("init=999", ErrorKind::DriverFailed, "nvidia-smi"),
    ("devices=0", ErrorKind::NoDevice, "CUDA_ERROR_NO_DEVICE"),
    ("devices=2", ErrorKind::NoDevice, "none assigned to this executor"),
    ("mode=2", ErrorKind::DeviceBusy, "PROHIBITED"),
    ("mode=3 held=1", ErrorKind::DeviceBusy, "cuDevicePrimaryCtxRetain"),
    ("pinned=0", ErrorKind::OutOfMemory, "cuMemHostRegister_v2"),
];

fn options(kernels: &Path) -> GpuOptions<'_> {
    GpuOptions {
        used: Use::Always,
        device: None,
        kernels,
        memory_limit: Some(256 << 20),
        pages: None,
        cache_limit: 0,
        pinned_limit: 8 << 20,
        least_bytes: 1024,
        codec: CodecOptions { codec: Codec::Lz4, level: Level::Fast },
        timeout: Duration::from_secs(600),
    }
}

/// A folder with the kernels for the simulated device; removed at the end.
struct Folder(std::path::PathBuf);

impl Folder {
    fn with(module: &Path) -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let name = format!("sluice-gpu-refused-{}-{}", std::process::id(), LAST.fetch_add(1, Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::copy(module, path.join("sm_90.cubin")).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn open(simulator: &Simulator, options: &GpuOptions<'_>) -> Result<GpuAccelerator, Declined> {
    let driver = Driver::open_at(&simulator.path()).map_err(Declined::Device)?;
    GpuAccelerator::open(&driver, options)
}

#[test]
fn what_cannot_be_opened_says_why_and_leaves_nothing() {
    let Some(module) = module() else { return };
    let folder = Folder::with(module);
    for (machine, kind, words) in MACHINES {
        let simulator = Simulator::start(&format!("multiprocessors=1 {machine}"));
        let why = open(&simulator, &options(&folder.0)).err().unwrap_or_else(|| panic!("{machine}: opened"));
        let Declined::Device(error) = &why else { panic!("{machine}: {why}") };
        assert_eq!(error.kind(), kind, "{machine}: {why}");
        assert!(why.to_string().contains(words), "{machine}: {why}");
        let counts = simulator.counts();
        let left = (counts.allocations, counts.modules, counts.registrations, counts.contexts, counts.events);
        assert_eq!(left, (0, 0, 0, 0, 0), "{machine}: {counts:?}");
        assert_eq!(simulator.violations(), Vec::<String>::new(), "{machine}");
    }
}

/// No allocation of the driver's, with what it is padded by, fits into the limit, or into the share of a device that
/// has little memory: nobody waits for one.
#[test]
fn a_limit_that_no_lease_fits_into_is_refused_at_once() {
    let Some(module) = module() else { return };
    let folder = Folder::with(module);
    for (memory, memory_limit) in [("1g", Some(64 << 20)), ("256m", None)] {
        let simulator = Simulator::start(&format!("multiprocessors=1 memory={memory}"));
        let options = GpuOptions { memory_limit, ..options(&folder.0) };
        let begun = Instant::now();
        let why = open(&simulator, &options).err().unwrap_or_else(|| panic!("{memory}: opened"));
        assert!(matches!(why, Declined::TooLarge(_)) && !why.is_lost(), "{memory}: {why}");
        assert!(begun.elapsed() < Duration::from_secs(60), "{memory}: it was waited for");
        let counts = simulator.counts();
        assert_eq!((counts.allocations, counts.registrations, counts.contexts), (0, 0, 0), "{counts:?}");
    }
}
