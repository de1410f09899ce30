//! A simulated machine with the kernels, compiled for the host.

use sluice_cuda::{Context, Driver, Launch, Module, Wait, Waited};
use sluice_cuda_sim::Simulator;
use sluice_gpu_engine::Kernels;
use sluice_gpu_mem::{ArenaStream, StreamArena, StreamArenaOptions};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Names a compiled module, so that a test's child process need not compile it again.
pub const MODULE: &str = "SLUICE_GPU_KERNELS_MODULE";

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

/// Compiles the kernels for the host; none if there is no compiler, which is said.
pub fn compile(name: &str, flags: &[&str]) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (made, object) = (format!("kernels-{name}-{}.so", std::process::id()), target.join(format!("kernels-{name}.so")));
    let new = target.join(made);
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let mut command = Command::new(&compiler);
    command.args(["-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden"]);
    command.args(flags).arg("-I").arg(folder.join("../cuda-sim/include"));
    command.arg(folder.join("kernels/host/kernels.cpp")).arg("-o").arg(&new);
    match command.output() {
        Ok(made) => assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr)),
        Err(why) => {
            eprintln!("skipped: tests of the GPU kernels: no C++ compiler ({compiler}): {why}");
            return None;
        }
    }
    // In one step: another process may read it.
    std::fs::rename(new, &object).unwrap();
    Some(object)
}

/// Fields are dropped in this order: what the context has is given back before it ends.
pub struct Setting {
    pub kernels: Kernels,
    pub stream: ArenaStream,
    pub arena: Arc<StreamArena>,
    context: Context,
    module: Module,
    pub simulator: Simulator,
}

impl Setting {
    /// None without a C++ compiler.
    pub fn new() -> Option<Self> {
        Some(Self::with_module(module()?, 1 << 30))
    }

    /// With another module, and so many bytes of the device's memory.
    pub fn with_module(module: &Path, bytes: usize) -> Self {
        let simulator = Simulator::start(&format!("memory=4g seed={}", std::process::id()));
        let context = Driver::open_at(&simulator.path()).unwrap().select(None).unwrap().context().unwrap();
        let module = context.load(&std::fs::read(module).unwrap()).unwrap();
        let kernels = Kernels::of(&context, &module, long()).unwrap().with_most_blocks(16);
        let arena = StreamArena::new(context.clone(), StreamArenaOptions::with_limit(bytes));
        let stream = arena.attach(context.thread_stream());
        Self { kernels, stream, arena, context, module, simulator }
    }

    pub fn set_order(&self, order: Order) {
        let (order, seed) = match order {
            Order::Forward => (0, 1),
            Order::Backward => (1, 1),
            Order::Random(seed) => (2, seed),
        };
        self.for_tests("set_order", [order, seed]);
    }

    /// Leaves one barrier out, by its number among the places where threads wait.
    pub fn skip(&self, site: u64) {
        self.for_tests("set_skipped", [site, 0]);
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
        assert_eq!(self.told().0, "", "a fault of the kernels");
        let Self { kernels, stream, arena, context, module, simulator } = self;
        // What was freed is in limbo until an event that somebody asks for.
        stream.flush();
        assert_eq!(arena.settle(long()).unwrap(), Waited::Done);
        drop((kernels, stream, arena, module));
        drop(context);
        let counts = simulator.counts();
        assert_eq!((counts.allocations, counts.modules, counts.contexts), (0, 0, 0), "{counts:?}");
        assert_eq!(simulator.violations(), Vec::<String>::new());
    }
}
