//! Finding and opening UCX.
//!
//! Order: where the user says it is; the system's, which alone can know the machine's RDMA devices; the one that came
//! with Sluice. A library that is too old ends the search, because it stays in the process. What was opened once is
//! kept for the life of the process and given to all later callers: UCX has hooks and handlers of its own in the
//! process, and those of a second copy would conflict with them. So no library is opened either where somebody else
//! has loaded another UCX ([`crate::loaded`]).

use std::ffi::OsStr;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use libloading::Library;
use libloading::os::unix::{Library as UnixLibrary, RTLD_GLOBAL, RTLD_LAZY};
use sluice_transport::WireError;

use crate::environment::add_if_absent;
use crate::loaded;
use crate::rdma_devices;
use crate::sys::{self, Functions};

/// The oldest release whose interface and peer-failure handling Sluice relies on.
pub const OLDEST: (u32, u32) = (1, 14);

const LIBUCP: &str = "libucp.so.0";
/// In the order in which they need each other, libucp last.
const NEEDED_FIRST: [&str; 3] = ["libucm.so.0", "libucs.so.0", "libuct.so.0"];

/// What libucs reads from the environment, when it is loaded and never again (its table of read-only options): its
/// handlers of SIGSEGV and other signals would replace those that the JVM needs.
const WHEN_LOADED: (&str, &str) = ("UCX_ERROR_SIGNALS", "");

/// What is set in UCX's configuration (`ucp_config_modify`), unless the user's environment sets it (with `UCX_` before
/// the name), and the release that knows it first.
const DEFAULTS: [((u32, u32), &str, &str); 4] = [
    // Only CUDA's allocations need it, and it hooks memory calls of the whole process.
    (OLDEST, "MEMTYPE_CACHE", "n"),
    // Messages over several lanes could come in another order, and the tags of Sluice's messages are numbered.
    (OLDEST, "MAX_EAGER_RAILS", "1"),
    // Otherwise memory that processes of a crashed machine were reading would stay pinned for the kernel's TCP timeout
    // of 15 minutes.
    ((1, 22), "TCP_USER_TIMEOUT", "60s"),
    // Over TCP the owner answers a get in pieces of this size, each with a system call of its own. UCX's own default is
    // 8 KiB; twice as much is read in a second with this one, and more gives no more
    // (bench/results/transport/segments.md).
    (OLDEST, TCP_SENDS, "32k"),
];
const TCP_SENDS: &str = "TCP_TX_SEG_SIZE";
/// What a process takes over TCP in one piece, 64 KiB by default. UCX opens no TCP device where this is less than
/// [`TCP_SENDS`].
const TCP_TAKES: &str = "TCP_RX_SEG_SIZE";
/// The same, where the machine has an RDMA device: no cache of registrations. What is large is registered by Sluice,
/// once; the cache would keep such a registration after `ucp_mem_unmap`, until UCX's hooks see that the memory is
/// unmapped, and one that they miss would be used for other memory at the same address.
const DEFAULT_WITH_RDMA: ((u32, u32), &str, &str) = (OLDEST, "RCACHE_ENABLE", "n");
/// The same, where one that UCX may use is driven by something else than mlx5: UCX's older protocols. The newer ones,
/// the default of 1.18, read one-sidedly only over devices that can invalidate keys ("rma_bw" lanes, when endpoints are
/// to report failures), which of UCX's drivers mlx5's is said to; over others the peer's process would have to answer
/// each read.
const DEFAULT_WITH_OTHER_RDMA: ((u32, u32), &str, &str) = (OLDEST, "PROTO_ENABLE", "n");
/// The first release that has no gets by the older protocols: it answers "unsupported" to each.
const WITHOUT_OLDER_PROTOCOLS: (u32, u32) = (1, 22);

/// The same, where the wire is for the memory of GPUs. A machine with one GPU has no NVLink, and without it UCX does
/// not read by `cuda_ipc` of its own accord: it would copy through host memory. This is a setting of the transport's
/// module, which is not loaded yet when the configuration is changed, so it goes into the environment.
const WITH_DEVICE_MEMORY: (&str, &str) = ("UCX_CUDA_IPC_ENABLE_GET_ZCOPY", "on");
/// The same, where the wire is not: none of the transports that use CUDA's driver.
const DEFAULT_WITHOUT_DEVICE_MEMORY: ((u32, u32), &str, &str) = (OLDEST, "TLS", "^cuda");
/// The oldest release that reads device memory: before, gets of it by the default protocols crashed.
pub(crate) const OLDEST_FOR_DEVICE_MEMORY: (u32, u32) = (1, 16);

/// What a wire is for, as far as UCX's settings depend on it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Machine {
    /// It has an RDMA device.
    pub(crate) has_rdma_device: bool,
    /// Memory of GPUs is to be read, too.
    pub(crate) device_memory: bool,
}

/// An opened UCX.
pub struct Ucx {
    pub(crate) calls: Functions,
    version: (u32, u32, u32),
    path: PathBuf,
    /// The place that it was asked for at.
    place: PathBuf,
}

/// Why a place has no usable library.
enum Refusal {
    NotLoaded(String),
    /// The library that was loaded, and why it cannot be used. It is in the process now, and a second UCX beside it
    /// would end the process (an assertion of libucs).
    Loaded(PathBuf, String),
    /// Another library of this process has loaded a UCX.
    Another(String),
}

/// What was opened in this process.
static OPENED: Mutex<Option<Arc<Ucx>>> = Mutex::new(None);

impl Ucx {
    /// Opens the first usable library, once per process: later calls get the same one.
    ///
    /// # Errors
    /// There is none, and the message says where it was looked for and what was wrong with each; or the process has
    /// opened another one than the configured one.
    pub fn open(configured: Option<&Path>, bundled: Option<&Path>) -> Result<Arc<Self>, WireError> {
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ucx) = opened.as_ref() {
            return ucx.again(configured);
        }
        let (name, value) = WHEN_LOADED;
        add_if_absent(name, value);
        let lanes = std::env::var("UCX_MAX_EAGER_RAILS").ok();
        lanes.and_then(|lanes| warning_of_lanes(&lanes)).into_iter().for_each(|warning| eprintln!("{warning}"));
        let mut tried = Vec::new();
        for place in places(configured, bundled) {
            match Self::open_at(&place) {
                Ok(ucx) => {
                    ucx.warn_of_missing_module();
                    ucx.check_pinnable()?;
                    return Ok(Arc::clone(opened.insert(Arc::new(ucx))));
                }
                Err(Refusal::Loaded(file, why)) => {
                    tried.push(format!("{}: {why}; remove or update it, or say where another one is", file.display()));
                    break;
                }
                Err(Refusal::Another(why)) => return Err(WireError(why)),
                Err(Refusal::NotLoaded(why)) => tried.push(format!("{}: {why}", place.display())),
            }
        }
        let (major, minor) = OLDEST;
        Err(WireError(format!("no usable UCX ({major}.{minor} or later); tried {}", tried.join("; "))))
    }

    fn again(self: &Arc<Self>, configured: Option<&Path>) -> Result<Arc<Self>, WireError> {
        match configured.map(file_at) {
            Some(other) if other != self.place => {
                let wanted = other.display();
                Err(WireError(format!("{wanted} is wanted, but this process has already opened {}", self.describe())))
            }
            _ => Ok(Arc::clone(self)),
        }
    }

    fn open_at(place: &Path) -> Result<Self, Refusal> {
        // A place where there is no file is told of as such.
        if let Some(why) = loaded::another_than(place).filter(|_| place.exists() || !loaded::is_path(place)) {
            return Err(Refusal::Another(why));
        }
        // A folder's own libraries go before the system's of the same names.
        if let Some(folder) = place.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            for name in NEEDED_FIRST {
                let beside = folder.join(name);
                if beside.exists() {
                    std::mem::forget(load(beside.as_os_str()).map_err(Refusal::NotLoaded)?);
                }
            }
        }
        let library = load(place.as_os_str()).map_err(Refusal::NotLoaded)?;
        // Never closed: see above. This is so for a library that cannot be used, too.
        let library = ManuallyDrop::new(library);
        // First, because one that is too old may lack other functions.
        // SAFETY: a library of this name is UCX; it stays loaded.
        let get_version = unsafe { sys::get_version(&library) };
        let get_version = get_version.map_err(|e| Refusal::Loaded(place.to_path_buf(), e.to_string()))?;
        let path = path_of(get_version as *const ()).unwrap_or_else(|| place.to_path_buf());
        let (mut major, mut minor, mut release) = (0, 0, 0);
        // SAFETY: writes three numbers.
        unsafe { get_version(&mut major, &mut minor, &mut release) };
        if (major, minor) < OLDEST {
            return Err(Refusal::Loaded(path, format!("it is UCX {major}.{minor}.{release}")));
        }
        // SAFETY: as above.
        match unsafe { Functions::of(&library) } {
            Ok(calls) => Ok(Self { calls, version: (major, minor, release), path, place: place.to_path_buf() }),
            Err(why) => Err(Refusal::Loaded(path, why.to_string())),
        }
    }

    fn warn_of_missing_module(&self) {
        let transports = std::env::var("UCX_TLS").unwrap_or_default();
        let warning = self.folder().and_then(|folder| rdma_devices::warning_of_missing_module(&transports, &folder));
        warning.into_iter().for_each(|warning| eprintln!("{warning}"));
    }

    /// Where UCX may use RDMA devices and may not pin what it needs for them, it would try to without end.
    fn check_pinnable(&self) -> Result<(), WireError> {
        let transports = std::env::var("UCX_TLS").ok();
        let refusal = rdma_devices::too_little_to_pin(transports.as_deref(), sluice_transport::pinnable_bytes());
        match refusal.filter(|_| self.folder().is_some_and(|folder| rdma_devices::are_usable(&folder))) {
            Some(why) => Err(WireError(why)),
            None => Ok(()),
        }
    }

    /// Where its file is, without links.
    fn folder(&self) -> Option<PathBuf> {
        let file = std::fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        file.parent().map(Path::to_path_buf)
    }

    /// Major, minor, release.
    pub fn version(&self) -> (u32, u32, u32) {
        self.version
    }

    /// Whether this release can read the memory of GPUs.
    pub fn reads_device_memory(&self) -> bool {
        (self.version.0, self.version.1) >= OLDEST_FOR_DEVICE_MEMORY
    }

    /// Whether gets can be made by the older protocols.
    pub(crate) fn has_older_protocols(&self) -> bool {
        (self.version.0, self.version.1) < WITHOUT_OLDER_PROTOCOLS
    }

    /// Sets what only the environment can tell UCX, before a context for device memory is made.
    pub(crate) fn prepare_device_memory() {
        let (name, value) = WITH_DEVICE_MEMORY;
        add_if_absent(name, value);
    }

    /// A stand-in for a library: its functions are a test's.
    #[cfg(test)]
    pub(crate) fn of(calls: Functions, (major, minor): (u32, u32)) -> Self {
        Self { calls, version: (major, minor, 0), path: PathBuf::new(), place: PathBuf::new() }
    }

    /// The same library, of which a test may replace functions.
    #[cfg(test)]
    pub(crate) fn copy(&self) -> Self {
        Self::open_at(&self.place).unwrap_or_else(|_| unreachable!("it is open"))
    }

    /// The settings to change in UCX's configuration, as names and values, without those that the user's environment
    /// sets.
    pub(crate) fn defaults(&self, machine: Machine) -> impl Iterator<Item = (&'static str, &'static str)> {
        let (major, minor, _) = self.version;
        let Machine { has_rdma_device, device_memory } = machine;
        let others = has_rdma_device && self.has_older_protocols() && rdma_devices::may_use_other_than_mlx5();
        let all = DEFAULTS.into_iter().chain(has_rdma_device.then_some(DEFAULT_WITH_RDMA));
        let all = all.chain(others.then_some(DEFAULT_WITH_OTHER_RDMA));
        let all = all.chain((!device_memory).then_some(DEFAULT_WITHOUT_DEVICE_MEMORY));
        let known = all.filter(move |(since, _, _)| *since <= (major, minor));
        let transports = std::env::var("UCX_TLS").unwrap_or_default();
        known
            .map(|(_, name, value)| (name, value))
            .filter(|(name, _)| !is_in_environment(name))
            .filter(move |(name, _)| *name != TCP_SENDS || !is_in_environment(TCP_TAKES) && may_use_tcp(&transports))
    }

    /// One line: version and file.
    pub fn describe(&self) -> String {
        let (major, minor, release) = self.version;
        format!("UCX {major}.{minor}.{release} ({})", self.path.display())
    }
}

fn is_in_environment(name: &str) -> bool {
    std::env::var_os(format!("UCX_{name}")).is_some()
}

/// Whether this value of `UCX_TLS` lets UCX use TCP. Where it does not, UCX warns of each setting of TCP's.
fn may_use_tcp(transports: &str) -> bool {
    let (listed, excluded) = transports.trim().strip_prefix('^').map_or((transports, false), |rest| (rest, true));
    let mut names = listed.split(',').map(|name| name.trim().trim_start_matches('\\'));
    transports.trim().is_empty() || names.any(|name| name == "tcp" || name == "all" && !excluded) != excluded
}

/// What is wrong with the environment's number of lanes for messages.
fn warning_of_lanes(lanes: &str) -> Option<String> {
    (lanes.trim() != "1").then(|| {
        format!(
            "sluice-ucx: UCX_MAX_EAGER_RAILS={lanes} in the environment: messages over several lanes may come in \
             another order, and each that does ends its connection. Remove it, or set it to 1"
        )
    })
}

fn places(configured: Option<&Path>, bundled: Option<&Path>) -> Vec<PathBuf> {
    match configured {
        // If the user names a library, no other is tried.
        Some(configured) => vec![file_at(configured)],
        None => std::iter::once(PathBuf::from(LIBUCP)).chain(bundled.map(file_at)).collect(),
    }
}

/// The library, of which the path or the folder is given.
fn file_at(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(LIBUCP) } else { path.to_path_buf() }
}

fn load(name: &OsStr) -> Result<Library, String> {
    // Global, because UCX's modules look for symbols of its libraries; lazy, because libucm and libucs need each other.
    // SAFETY: loading UCX runs its initialisers, which are made for being loaded at any time.
    let library = unsafe { UnixLibrary::open(Some(name), RTLD_LAZY | RTLD_GLOBAL) };
    library.map(Library::from).map_err(|e| e.to_string())
}

/// The file that a function was loaded from.
pub(crate) fn path_of(function: *const ()) -> Option<PathBuf> {
    // SAFETY: all-zero is a valid Dl_info.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: only looks the address up; the name it gives lives as long as the library, which is never closed.
    let known = unsafe { libc::dladdr(function.cast(), &mut info) } != 0 && !info.dli_fname.is_null();
    // SAFETY: as above.
    known
        .then(|| unsafe { std::ffi::CStr::from_ptr(info.dli_fname) })
        .map(|name| PathBuf::from(std::os::unix::ffi::OsStrExt::from_bytes(name.to_bytes()) as &OsStr))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tcp_is_set_up_only_where_it_may_be_used() {
        for (transports, expected) in [
            ("", true),
            ("tcp,self", true),
            ("sm, tcp", true),
            ("\\tcp", true),
            ("all", true),
            ("^ib", true),
            ("rc,self", false),
            ("^tcp", false),
            ("^ib,tcp", false),
        ] {
            assert_eq!(may_use_tcp(transports), expected, "{transports}");
        }
    }

    #[test]
    fn more_lanes_than_one_are_warned_of() {
        assert_eq!(warning_of_lanes("1"), None);
        assert!(warning_of_lanes("2").is_some_and(|warning| warning.contains("UCX_MAX_EAGER_RAILS=2")));
        assert!(warning_of_lanes("").is_some());
    }
}
