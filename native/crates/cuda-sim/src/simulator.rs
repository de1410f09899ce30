//! A simulator of a test's own.

use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use libloading::Library;

use crate::control::{ABI, COUNTS, RegisteredKernel};
use crate::image::LIST;
use crate::kernel::Kernel;

/// Where the library is, if not beside the test.
const VARIABLE: &str = "SLUICE_CUDA_SIM_LIBRARY";
const FILE: &str = "libsluice_cuda_sim.so";

type Configure = unsafe extern "C" fn(*const u8, usize, *mut u8, usize) -> usize;
type Abi = extern "C" fn() -> u64;
type Register = unsafe extern "C" fn(RegisteredKernel);
type Calls = unsafe extern "C" fn(*const u8, usize) -> u64;
type CountsOf = unsafe extern "C" fn(*mut u64);
type Texts = unsafe extern "C" fn(*mut u8, usize) -> usize;

/// A library of its own, with devices, memory and mistakes that no other has: tests that run side by side do not meet.
/// It stays in the process. When this value is dropped, mistakes of the program that no call of
/// [`Simulator::violations`] has returned end the test.
#[derive(Debug)]
pub struct Simulator {
    library: ManuallyDrop<Library>,
    folder: PathBuf,
    /// How many mistakes the test has been told.
    told: AtomicUsize,
}

/// What a simulator has and has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Allocations that were not freed.
    pub allocations: u64,
    /// Their bytes.
    pub allocated_bytes: u64,
    /// Streams that were made and not destroyed.
    pub streams: u64,
    /// Events that were not destroyed.
    pub events: u64,
    /// Modules that were not unloaded.
    pub modules: u64,
    /// Ranges of host memory that are registered.
    pub registrations: u64,
    /// How often primary contexts are retained.
    pub contexts: u64,
    /// Work in streams that was not done.
    pub pending: u64,
    /// Work that was done.
    pub executed: u64,
    /// How often the driver waited for all work of a device: when memory was freed.
    pub waits: u64,
}

/// Work that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The stream.
    pub stream: String,
    /// The function that put it there.
    pub function: String,
    /// Its place in the order of the calls.
    pub put: u64,
}

impl Simulator {
    /// Makes one, with settings as words: `seed=N`, `devices=N`, `memory=64m`, `version=12080`, `init=STATUS`, `mig=1`,
    /// `mode=0|2|3`, `held=1` (by another process), `pinned=BYTES`, `pageable_waits=1` (copies to host memory that is
    /// not registered return when they are done), `multiprocessors=N`, `timeline=1`, `skip=KERNEL` (its launches do
    /// nothing); faults: see [`Simulator::configure`].
    ///
    /// # Panics
    /// The library was not built (it is, with the crate), or a setting is wrong.
    pub fn start(settings: &str) -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("sluice-cuda-sim-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for temporary files");
        let file = folder.join("libcuda.so.1");
        let library_file = library();
        std::fs::copy(&library_file, &file).expect("the simulator's library is copied");
        // SAFETY: it is this crate, made for being loaded; a copy is a library of its own to the loader.
        let library = unsafe { Library::new(&file) }.expect("the simulator's library is loaded");
        let simulator = Self { library: ManuallyDrop::new(library), folder, told: AtomicUsize::new(0) };
        // SAFETY: the library is the simulator, maybe of another build.
        let abi: Option<Abi> = unsafe { simulator.library.get(b"sluice_sim_abi\0") }.ok().map(|symbol| *symbol);
        let found = abi.map(|abi| abi());
        assert!(
            found == Some(ABI),
            "{} is of another build: build the crate sluice-cuda-sim anew",
            library_file.display()
        );
        simulator.configure(settings);
        simulator
    }

    /// The library, to be opened as the driver.
    pub fn path(&self) -> PathBuf {
        self.folder.join("libcuda.so.1")
    }

    /// Changes settings and adds faults: `fail=FUNCTION@N:STATUS`, `sticky=FUNCTION@N:STATUS` (so do all later calls),
    /// `lose=FUNCTION@N` (sticky and unknown), `hang=FUNCTION@N` (its work never ends), `block=FUNCTION@N` (it does not
    /// return before [`Simulator::release`]). N counts from now, 1 is the next call; `N+` is all from then on.
    ///
    /// # Panics
    /// A setting is wrong.
    pub fn configure(&self, settings: &str) {
        let configure: Configure = self.function("sluice_sim_configure");
        let mut wrong = [0; 200];
        // SAFETY: a text and a place with their lengths.
        let length =
            unsafe { configure(settings.as_ptr(), settings.len(), wrong.as_mut_ptr(), wrong.len()) }.min(wrong.len());
        assert!(length == 0, "{}", String::from_utf8_lossy(&wrong[..length]));
    }

    /// Lets modules have a kernel.
    pub fn register(&self, kernel: Kernel) {
        let register: Register = self.function("sluice_sim_register");
        // SAFETY: a test's function stays as long as its process.
        unsafe { register(kernel.into()) };
    }

    /// The image of a module with these kernels.
    pub fn image(kernels: &[&str]) -> Vec<u8> {
        let names: String = kernels.iter().map(|name| format!("{name}\n")).collect();
        format!("{LIST}\n{names}").into_bytes()
    }

    /// How often a function of the driver was called.
    pub fn calls(&self, function: &str) -> u64 {
        let calls: Calls = self.function("sluice_sim_calls");
        // SAFETY: a text with its length.
        unsafe { calls(function.as_ptr(), function.len()) }
    }

    /// What it has and has done.
    pub fn counts(&self) -> Counts {
        let counts: CountsOf = self.function("sluice_sim_counts");
        let mut numbers = [0; COUNTS];
        // SAFETY: there is room for all.
        unsafe { counts(numbers.as_mut_ptr()) };
        Counts {
            allocations: numbers[0],
            allocated_bytes: numbers[1],
            streams: numbers[2],
            events: numbers[3],
            modules: numbers[4],
            registrations: numbers[5],
            contexts: numbers[6],
            pending: numbers[7],
            executed: numbers[8],
            waits: numbers[9],
        }
    }

    /// The program's mistakes that were found so far.
    pub fn violations(&self) -> Vec<String> {
        let found = self.lines("sluice_sim_mistakes");
        self.told.fetch_max(found.len(), Ordering::Relaxed);
        found
    }

    /// The work that was done since `timeline=1` was set, in order.
    pub fn timeline(&self) -> Vec<Step> {
        let lines = self.lines("sluice_sim_timeline");
        let steps = lines.iter().filter_map(|line| {
            let mut parts = line.split('\t').map(String::from);
            let (stream, function) = (parts.next()?, parts.next()?);
            Some(Step { stream, function, put: parts.next()?.parse().ok()? })
        });
        steps.collect()
    }

    /// Lets calls go on that are blocked, these and all later ones.
    pub fn release(&self) {
        let release: extern "C" fn() = self.function("sluice_sim_release");
        release();
    }

    fn lines(&self, function: &str) -> Vec<String> {
        let texts: Texts = self.function(function);
        let mut bytes = Vec::new();
        loop {
            // SAFETY: a place with its length.
            let length = unsafe { texts(bytes.as_mut_ptr(), bytes.len()) };
            if length <= bytes.len() {
                return String::from_utf8_lossy(&bytes[..length]).lines().map(String::from).collect();
            }
            // It may have become longer by the next time.
            bytes.resize(length, 0);
        }
    }

    /// A function of the library, which has the type that `control.rs` gives it.
    fn function<T: Copy>(&self, name: &str) -> T {
        // SAFETY: only called with the names and types of `control.rs`; the library is never closed.
        *unsafe { self.library.get(name.as_bytes()) }.expect("the library is this crate")
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
        if std::thread::panicking() {
            return;
        }
        let told = self.told.load(Ordering::Relaxed);
        let untold = self.violations().split_off(told);
        assert!(untold.is_empty(), "the program makes mistakes with the driver: {untold:#?}");
    }
}

/// The library that was built with this crate: cargo puts it beside tests, and one folder above examples.
fn library() -> PathBuf {
    if let Some(path) = std::env::var_os(VARIABLE) {
        return path.into();
    }
    let program = std::env::current_exe().expect("this program has a path");
    let folders = program.ancestors().skip(1).take(2);
    let files = folders.flat_map(|folder: &Path| [folder.join("deps").join(FILE), folder.join(FILE)]);
    let found: Vec<PathBuf> = files.filter(|file| file.exists()).collect();
    found
        .into_iter()
        .next()
        .unwrap_or_else(|| panic!("no {FILE} beside {}; or say where ({VARIABLE})", program.display()))
}
