//! A simulated machine with the kernels, compiled for the host.

use sluice_cuda::{Context, Driver, Launch, Module, Wait, Waited};
use sluice_cuda_sim::{Simulator, compile_kernels};
use sluice_gpu_engine::{Declined, DeviceCopies, GpuAccelerator, GpuEngine, GpuOptions, Kernels, image_for};
use sluice_gpu_mem::{ArenaStream, StreamArena, StreamArenaOptions};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Names a compiled module, so that a test's child process need not compile it again.
pub const MODULE: &str = "SLUICE_GPU_KERNELS_MODULE";

/// Cargo's, or the machine's where there is no cargo.
pub fn folder_for_files() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    if folder.is_dir() { folder } else { std::env::temp_dir() }
}

/// Compiles the kernels for the host; none if there is no compiler, which is said.
pub fn compile(name: &str, flags: &[&str]) -> Option<PathBuf> {
    compile_kernels(&folder_for_files(), name, flags).unwrap()
}

/// Longer than any test needs, on a machine where tests are stopped for a while.
pub fn long() -> Wait<'static> {
    Wait::at_most(Duration::from_secs(600))
}

/// The order in which the threads of a block take their turns.
#[derive(Debug, Clone, Copy)]
pub enum Order {
    Forward,
    Backward,
    Random(u64),
}

/// The orders that tests try.
pub const ORDERS: [Order; 3] = [Order::Forward, Order::Backward, Order::Random(7)];

/// The kernels as a module of the simulated driver; none without a C++ compiler.
pub fn module() -> Option<&'static Path> {
    static MADE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let made = MADE.get_or_init(|| match std::env::var_os(MODULE) {
        Some(path) => Some(path.into()),
        None => compile("plain", &[]),
    });
    made.as_deref()
}

/// Whether tests that can run on a GPU do: with the kernels in the folder that `FOLDER` names.
fn on_gpu() -> bool {
    std::env::var_os("SLUICE_TEST_GPU").is_some()
}

const FOLDER: &str = "SLUICE_GPU_KERNELS";

/// Fields are dropped in this order: what the context has is given back before it ends.
pub struct Setting {
    pub kernels: Kernels,
    pub stream: ArenaStream,
    pub arena: Arc<StreamArena>,
    context: Context,
    module: Module,
    /// None if none are kept.
    copies: Option<Arc<DeviceCopies>>,
    simulator: Option<Simulator>,
}

impl Setting {
    /// A GPU if tests run on one, else a simulated machine; none without a C++ compiler.
    pub fn new() -> Option<Self> {
        if on_gpu() { Self::on_gpu() } else { Self::simulated() }
    }

    /// A GPU; none unless tests run on one.
    pub fn on_gpu() -> Option<Self> {
        if !on_gpu() {
            return None;
        }
        let context = Driver::open().unwrap().select(None).unwrap().context().unwrap();
        let folder = std::env::var_os(FOLDER).unwrap_or_else(|| panic!("{FOLDER} must name a folder with kernels"));
        let image = image_for(Path::new(&folder), context.device().facts().compute_capability).unwrap();
        let image = image.expect("kernels for this device");
        Some(Self::of(context, &image, None, 4 << 30))
    }

    /// None without a C++ compiler.
    pub fn simulated() -> Option<Self> {
        Some(Self::with_module(module()?, 1 << 30))
    }

    /// A simulated machine with another module, and so many bytes of the device's memory.
    pub fn with_module(module: &Path, bytes: usize) -> Self {
        let simulator = Simulator::start(&format!("memory=4g multiprocessors=1 seed={}", std::process::id()));
        let context = Driver::open_at(&simulator.path()).unwrap().select(None).unwrap().context().unwrap();
        Self::of(context, &std::fs::read(module).unwrap(), Some(simulator), bytes)
    }

    /// As [`Self::new`], with a device tier of so many bytes, which are all of the device's memory but for 64 MiB
    /// that pad it; none without a C++ compiler.
    pub fn with_copies(bytes: usize) -> Option<Self> {
        let setting = Self::new()?;
        let Self { kernels, stream, arena, context, module, simulator, .. } = setting;
        drop((stream, arena));
        let copies = DeviceCopies::new(&context, bytes);
        let drop_caches = Some(copies.drop_caches());
        let options = StreamArenaOptions { drop_caches, ..StreamArenaOptions::with_limit(bytes + (64 << 20)) };
        let arena = StreamArena::new(context.clone(), options);
        let stream = arena.attach(context.thread_stream());
        Some(Self { kernels, stream, arena, context, module, copies: Some(copies), simulator })
    }

    /// An accelerator with the device tier of [`Self::with_copies`].
    pub fn accelerator_with_copies(&self, options: &GpuOptions<'_>) -> Arc<GpuAccelerator> {
        let gpu = GpuAccelerator::of(self.engine().unwrap(), 0, options).unwrap();
        Arc::new(gpu.with_copies(Arc::clone(self.copies.as_ref().unwrap())))
    }

    fn of(context: Context, image: &[u8], simulator: Option<Simulator>, bytes: usize) -> Self {
        let module = context.load(image).unwrap();
        let kernels = Kernels::of(&context, &module, long()).unwrap();
        // Each block that finds nothing to do costs the host a while, too.
        let kernels = if simulator.is_some() { kernels.with_most_blocks(5) } else { kernels };
        let arena = StreamArena::new(context.clone(), StreamArenaOptions::with_limit(bytes));
        let stream = arena.attach(context.thread_stream());
        Self { kernels, stream, arena, context, module, copies: None, simulator }
    }

    /// The same with so many blocks a launch.
    pub fn with_most_blocks(self, blocks: u64) -> Self {
        Self { kernels: self.kernels.with_most_blocks(blocks), ..self }
    }

    /// An engine with these kernels, once they have passed its self-test.
    pub fn engine(&self) -> Result<GpuEngine, Declined> {
        self.engine_within(long())
    }

    /// The same, with so long a wait each time.
    pub fn engine_within(&self, wait: Wait<'_>) -> Result<GpuEngine, Declined> {
        GpuEngine::of(&self.context, &self.arena, &self.module, wait)
    }

    /// An accelerator with such an engine.
    pub fn accelerator(&self, options: &GpuOptions<'_>) -> Result<Arc<GpuAccelerator>, Declined> {
        GpuAccelerator::of(self.engine()?, 0, options).map(Arc::new)
    }

    /// Whether this is a simulated machine.
    pub fn on_simulator(&self) -> bool {
        self.simulator.is_some()
    }

    /// The simulator, where there is one.
    pub fn simulator(&self) -> &Simulator {
        self.simulator.as_ref().unwrap()
    }

    pub fn set_order(&self, order: Order) {
        let (order, seed) = match order {
            Order::Forward => (0, 1),
            Order::Backward => (1, 1),
            Order::Random(seed) => (2, seed),
        };
        self.for_tests("set_order", [order, seed]);
    }

    /// Leaves out the barriers at one place, as [`Self::told`] names it, from now on.
    pub fn skip(&self, site: &str) {
        let hash = site
            .bytes()
            .fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3));
        self.for_tests("set_skipped", [hash, 0]);
    }

    /// What went wrong in the kernels, or nothing; and the places where threads wait.
    pub fn told(&self) -> (String, Vec<String>) {
        let mut text = vec![0u8; 64 << 10];
        let lease = self.stream.lease(text.len(), long()).unwrap();
        self.for_tests("tell", [lease.address().0, text.len() as u64]);
        // SAFETY: the lease has as many bytes, and the text is looked at when the stream has finished.
        unsafe { self.stream.stream().copy_to_host(text.as_mut_ptr(), lease.address(), text.len()).unwrap() };
        self.stream.stream().finish(long()).unwrap();
        let end = text.iter().position(|byte| *byte == 0).unwrap();
        let text = String::from_utf8(text[..end].to_vec()).unwrap();
        let mut lines = text.lines().map(str::to_owned);
        let fault = lines.next().unwrap_or_default();
        (fault, lines.collect())
    }

    fn for_tests(&self, kernel: &str, mut values: [u64; 2]) {
        let kernel = self.module.kernel(kernel).unwrap();
        let mut parameters = values.each_mut().map(|value| std::ptr::from_mut(value).cast());
        // SAFETY: these kernels take two numbers; what the second one points to is leased.
        unsafe { self.stream.stream().launch(&kernel, Launch::linear(1, 256), &mut parameters).unwrap() };
        self.stream.stream().finish(long()).unwrap();
    }

    /// Nothing went wrong in the kernels, and all memory is free again.
    pub fn finish(self) {
        if self.simulator.is_some() {
            assert_eq!(self.told().0, "", "a fault of the kernels");
        }
        let Self { kernels, stream, arena, context, module, copies, simulator } = self;
        // What was freed is in limbo until an event that somebody asks for.
        stream.flush();
        assert_eq!(arena.settle(long()).unwrap(), Waited::Done);
        drop((kernels, stream, arena, module, copies));
        drop(context);
        let Some(simulator) = simulator else { return };
        let counts = simulator.counts();
        let left = [counts.allocations, counts.modules, counts.contexts, counts.registrations, counts.events];
        assert_eq!(left, [0; 5], "{counts:?}");
        assert_eq!(simulator.violations(), Vec::<String>::new());
    }
}
