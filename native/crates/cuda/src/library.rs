//! Finding and opening the driver.
//!
//! The driver comes with the kernel's module, so there is one on a machine, found by the loader (`libcuda.so.1`), or
//! the file that `SLUICE_CUDA_LIBRARY` names. What was opened once is kept for the life of the process: the driver has
//! threads and memory of its own in it, and RAPIDS and UCX may use the same.

use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr, c_int};
use std::fmt;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use libloading::Library;
use libloading::os::unix::{Library as UnixLibrary, RTLD_LOCAL, RTLD_NOW};

use crate::device::Device;
use crate::error::{CudaError, ErrorKind};
use crate::health::Health;
use crate::sys::{self, Functions, Status};

/// The oldest interface that Sluice works with (driver 525).
pub const OLDEST: Version = Version { major: 12, minor: 0 };

const LIBCUDA: &str = "libcuda.so.1";
/// How long a thread waits for another that opens the same driver.
const OPENING: Duration = Duration::from_secs(60);
/// The variable by which a process sees some devices only, with other numbers than the machine's.
const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";
/// The library to open instead.
const VARIABLE: &str = "SLUICE_CUDA_LIBRARY";
/// Where the kernel's module puts the device files.
const DEVICE_FILES: &str = "/dev";

/// A version of CUDA's interface: that which the driver has, whatever toolkits are installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// 12 of 12.4.
    pub major: u32,
    /// 4 of 12.4.
    pub minor: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// An opened and initialised driver.
pub struct Driver {
    pub(crate) calls: Functions,
    version: Version,
    place: PathBuf,
    /// By ordinal; made when a device is first used, never removed.
    healths: Mutex<BTreeMap<c_int, Arc<Health>>>,
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}

/// What was opened in this process, by the place that was asked for; none while a thread is opening it.
static OPENED: Mutex<BTreeMap<PathBuf, Option<Arc<Driver>>>> = Mutex::new(BTreeMap::new());
/// A thread has opened a driver, or could not.
static CHANGED: Condvar = Condvar::new();

/// The place that this thread is opening; others may try when it has failed.
struct Opening<'a> {
    place: &'a Path,
}

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        if opened.get(self.place).is_some_and(Option::is_none) {
            opened.remove(self.place);
        }
        CHANGED.notify_all();
    }
}

impl Driver {
    /// Opens the driver that `SLUICE_CUDA_LIBRARY` names, or the machine's. The first call initialises it, which can
    /// take seconds; later calls get the same one. A failure is not remembered: a driver that is installed or
    /// permitted later is found.
    ///
    /// # Errors
    /// There is none, it is too old, it has no device for this process, or this process may not use it. The message
    /// says what to do.
    pub fn open() -> Result<Arc<Self>, CudaError> {
        let configured = std::env::var_os(VARIABLE).filter(|value| !value.is_empty());
        Self::open_at(Path::new(configured.as_deref().unwrap_or(OsStr::new(LIBCUDA))))
    }

    /// The same, of one library.
    ///
    /// # Errors
    /// As [`Driver::open`].
    pub fn open_at(place: &Path) -> Result<Arc<Self>, CudaError> {
        Self::open_within(place, OPENING)
    }

    /// The same. While another thread opens it, this one waits for that up to the limit; a driver that does not answer
    /// holds up only the thread that asked first.
    ///
    /// # Errors
    /// As [`Driver::open`]; [`ErrorKind::DriverFailed`] at the limit.
    pub fn open_within(place: &Path, limit: Duration) -> Result<Arc<Self>, CudaError> {
        let opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = CHANGED.wait_timeout_while(opened, limit, |opened| opened.get(place).is_some_and(Option::is_none));
        let mut opened = waited.unwrap_or_else(PoisonError::into_inner).0;
        match opened.get(place) {
            Some(Some(driver)) => return Ok(Arc::clone(driver)),
            Some(None) => {
                let message = format!(
                    "{}: another thread has been opening it for more than {limit:?}; look whether nvidia-smi answers",
                    place.display()
                );
                return Err(CudaError::new(ErrorKind::DriverFailed, message));
            }
            None => opened.insert(place.to_path_buf(), None),
        };
        drop(opened);
        let _opening = Opening { place };
        let driver = Arc::new(Self::load(place)?);
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        opened.insert(place.to_path_buf(), Some(Arc::clone(&driver)));
        Ok(driver)
    }

    fn load(place: &Path) -> Result<Self, CudaError> {
        // Local: UCX and RAPIDS open it themselves. Now: a library that lacks something is refused here.
        // SAFETY: the driver's initialisers are made for being loaded at any time.
        let library = unsafe { UnixLibrary::open(Some(place), RTLD_NOW | RTLD_LOCAL) };
        let missing = |e| CudaError::new(ErrorKind::NoDriver, no_driver(place, &e));
        // Never closed, even if it cannot be used: it may have started threads.
        let library = ManuallyDrop::new(Library::from(library.map_err(missing)?));
        // First, because one that is too old may lack other functions.
        // SAFETY: a library of this name is the driver; it stays loaded.
        let get_version = unsafe { sys::get_version(&library) }.map_err(missing)?;
        let version = version_of(get_version)?;
        if version < OLDEST {
            let message = format!(
                "{}: the driver has CUDA {version}, and {OLDEST} or later (driver 525) is needed; update it",
                place.display()
            );
            return Err(CudaError::new(ErrorKind::DriverTooOld, message));
        }
        // SAFETY: as above.
        let calls = unsafe { Functions::of(&library) }.map_err(missing)?;
        let driver = Self { calls, version, place: place.to_path_buf(), healths: Mutex::default() };
        // SAFETY: the flags must be 0; any number of calls is allowed, by any thread.
        let status = unsafe { (driver.calls.init)(0) };
        if status == sys::SUCCESS { Ok(driver) } else { Err(driver.not_initialised(status)) }
    }

    fn not_initialised(&self, status: Status) -> CudaError {
        let words = self.words(status);
        // The driver says 100, 304, 999 or another, whatever keeps it from opening them.
        if let Some(file) = unreadable_device_file(Path::new(DEVICE_FILES)) {
            let message = format!(
                "cuInit: {words}; this user cannot open {file} for reading and writing: add it to the group that can, \
                 or the device to the container"
            );
            return CudaError::new(ErrorKind::NoPermission, message);
        }
        match status {
            // Not sticky here: nothing works yet.
            sys::UNKNOWN => CudaError::new(
                ErrorKind::DriverFailed,
                format!("cuInit: {words}; look whether nvidia-smi works and the kernel's modules are loaded"),
            ),
            _ => CudaError::of_status("cuInit", status, &words),
        }
    }

    /// The version of CUDA's interface that the driver has.
    pub fn version(&self) -> Version {
        self.version
    }

    /// One line: version and file.
    pub fn describe(&self) -> String {
        format!("CUDA {} ({})", self.version, self.place.display())
    }

    /// The devices that this process can see, in the driver's order.
    ///
    /// # Errors
    /// The driver refused.
    pub fn devices(self: &Arc<Self>) -> Result<Vec<Device>, CudaError> {
        let mut count = 0;
        // SAFETY: writes one number.
        self.check("cuDeviceGetCount", unsafe { (self.calls.device_count)(&mut count) })?;
        (0..count).map(|ordinal| Device::of(self, ordinal)).collect()
    }

    /// The device to use. `address` is what Spark's resource discovery gave this executor: the device's number in the
    /// order of PCI addresses, as `nvidia-smi` counts, or its UUID (`GPU-…`, `MIG-…`). Without one it is the only
    /// device. A number is declined if `CUDA_VISIBLE_DEVICES` is set and leaves several: it may count the machine's
    /// devices or those that are visible.
    ///
    /// # Errors
    /// [`ErrorKind::NoDevice`]: there is no such device, there are several and none was named, or it is not clear which
    /// is meant.
    pub fn select(self: &Arc<Self>, address: Option<&str>) -> Result<Device, CudaError> {
        let mut devices = self.devices()?;
        let none = |message: String| Err(CudaError::new(ErrorKind::NoDevice, message));
        if devices.is_empty() {
            return none("the driver has no device for this process (CUDA_VISIBLE_DEVICES may hide them)".into());
        }
        let Some(address) = address.map(str::trim) else {
            if devices.len() > 1 {
                return none(format!(
                    "{} devices, none assigned to this executor (spark.executor.resource.gpu.amount)",
                    devices.len()
                ));
            }
            return Ok(devices.swap_remove(0));
        };
        let restricted = std::env::var_os(VISIBLE).is_some_and(|value| !value.is_empty());
        if restricted && devices.len() > 1 && address.parse::<usize>().is_ok() {
            return none(format!(
                "device '{address}' is a number, {VISIBLE} is set and {} devices are visible, so it is not clear which \
                 is meant: let the discovery script give UUIDs, or do not set the variable",
                devices.len()
            ));
        }
        devices.sort_by(|a, b| a.facts().pci_address.cmp(&b.facts().pci_address));
        let seen: Vec<String> = devices.iter().map(|device| device.facts().uuid.clone()).collect();
        let found = match address.parse::<usize>() {
            // The executor's container has only its own.
            Ok(_) if devices.len() == 1 => Some(0),
            Ok(number) => Some(number).filter(|number| *number < devices.len()),
            Err(_) => seen.iter().position(|uuid| uuid.eq_ignore_ascii_case(address)),
        };
        match found {
            Some(index) => Ok(devices.swap_remove(index)),
            None => none(format!("no device '{address}' among those that this process sees: {}", seen.join(", "))),
        }
    }

    /// The state of a device in this process; the same object for all that ask.
    pub(crate) fn health(&self, ordinal: c_int) -> Arc<Health> {
        let mut healths = self.healths.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(healths.entry(ordinal).or_default())
    }

    /// An error, unless the status is 0. Nothing is made of it: see `Context::check` for calls on a device.
    pub(crate) fn check(&self, call: &str, status: Status) -> Result<(), CudaError> {
        if status == sys::SUCCESS { Ok(()) } else { Err(CudaError::of_status(call, status, &self.words(status))) }
    }

    /// The driver's name and text of a status: "CUDA_ERROR_OUT_OF_MEMORY (2, out of memory)".
    pub(crate) fn words(&self, status: Status) -> String {
        let ask = |function: unsafe extern "C" fn(Status, *mut *const std::ffi::c_char) -> Status| {
            let mut text = std::ptr::null();
            // SAFETY: writes a pointer to a string that is never freed, or null.
            let known = unsafe { function(status, &mut text) } == sys::SUCCESS && !text.is_null();
            // SAFETY: as above.
            known.then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
        };
        let name = ask(self.calls.error_name).unwrap_or_else(|| "an error that the driver does not know".into());
        match ask(self.calls.error_string) {
            Some(text) => format!("{name} ({status}, {text})"),
            None => format!("{name} ({status})"),
        }
    }
}

fn no_driver(place: &Path, why: &libloading::Error) -> String {
    // The loader's words, without its addition of the same again.
    let why = std::error::Error::source(why).map_or_else(|| why.to_string(), ToString::to_string);
    format!(
        "no usable CUDA driver at {}: {why}; without a GPU that is as it should be, else install NVIDIA's driver \
         or say where its library is ({VARIABLE})",
        place.display()
    )
}

fn version_of(get_version: sys::GetVersion) -> Result<Version, CudaError> {
    let mut version = 0;
    // SAFETY: writes one number.
    let status = unsafe { get_version(&mut version) };
    let version = u32::try_from(version).ok().filter(|_| status == sys::SUCCESS);
    let version = version.map(|version| Version { major: version / 1000, minor: version % 1000 / 10 });
    version.ok_or_else(|| {
        let why = "it is a stub, or the kernel's module is missing";
        CudaError::new(ErrorKind::NoDriver, format!("cuDriverGetVersion failed ({status}): {why}"))
    })
}

/// A device file of NVIDIA's in `folder` that this user cannot read and write. None if there are no such files.
fn unreadable_device_file(folder: &Path) -> Option<String> {
    let names = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.file_name());
    let mut names: Vec<_> = names.filter_map(|name| name.into_string().ok()).filter(|name| is_device(name)).collect();
    names.sort();
    let paths = names.iter().map(|name| folder.join(name));
    let mut refused = paths.filter(|path| {
        let opened = std::fs::File::options().read(true).write(true).open(path);
        opened.is_err_and(|e| e.kind() == std::io::ErrorKind::PermissionDenied)
    });
    refused.next().map(|path| path.display().to_string())
}

/// `nvidiactl`, `nvidia-uvm`, `nvidia0` and so on: those that the driver opens for any work.
fn is_device(name: &str) -> bool {
    let number = name.strip_prefix("nvidia").is_some_and(|rest| rest.parse::<u32>().is_ok());
    number || name == "nvidiactl" || name == "nvidia-uvm"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_library_is_no_driver() {
        let missing = Driver::open_at(Path::new("/nonexistent/libcuda.so.1")).expect_err("none");
        assert_eq!(missing.kind(), ErrorKind::NoDriver);
        let text = missing.to_string();
        assert!(text.contains("/nonexistent/libcuda.so.1") && text.contains(VARIABLE), "{text}");
        let other = Driver::open_at(Path::new("libc.so.6")).expect_err("no CUDA");
        assert_eq!(other.kind(), ErrorKind::NoDriver, "{other}");
        assert!(other.to_string().contains("cuDriverGetVersion"), "{other}");
    }

    #[test]
    fn device_files_are_told_by_their_names() {
        for (name, expected) in
            [("nvidia0", true), ("nvidia15", true), ("nvidiactl", true), ("nvidia-uvm", true), ("nvidia", false)]
        {
            assert_eq!(is_device(name), expected, "{name}");
        }
        assert!(!is_device("nvidia-modeset") && !is_device("null"));
    }

    #[test]
    fn a_device_file_that_the_user_may_not_open_is_named() {
        let folder = std::env::temp_dir().join(format!("sluice-device-files-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("made");
        let file = folder.join("nvidia0");
        std::fs::write(&file, "").expect("written");
        assert_eq!(unreadable_device_file(&folder), None);
        let mut permissions = std::fs::metadata(&file).expect("there").permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0);
        std::fs::set_permissions(&file, permissions).expect("set");
        // SAFETY: a number of the process.
        let root = unsafe { libc::geteuid() } == 0;
        let expected = (!root).then(|| file.display().to_string());
        assert_eq!(unreadable_device_file(&folder), expected, "root may open any");
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
