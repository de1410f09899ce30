//! Images of modules: a list of kernels that a test has registered, or a shared object of the host with kernels
//! (`include/sluice_cuda_sim.h`).

use std::ffi::c_void;
use std::io::Write;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd};

use libloading::Library;

use crate::kernel::{Kernel, KernelFunction};

/// What the list begins with; the kernels' names follow, one a line.
pub(crate) const LIST: &str = "sluice-cuda-sim module";
const ELF: &[u8] = b"\x7fELF\x02\x01";
/// A 64-bit ELF header, and where in it the place of the table of sections, the size of an entry and their number are.
/// Linkers write the table last.
const HEADER_BYTES: usize = 64;
const SECTIONS_AT: usize = 40;
const SECTION_BYTES_AT: usize = 58;
const SECTION_COUNT_AT: usize = 60;

/// What a module was loaded from.
#[derive(Debug)]
pub(crate) enum Image {
    List(Vec<String>),
    /// Never closed: kernels are used after their module, by mistake, too.
    Object(ManuallyDrop<Library>),
}

/// As the header declares it.
#[repr(C)]
struct Exported {
    parameter_count: usize,
    parameter_bytes: *const usize,
    function: Option<KernelFunction>,
    raw: bool,
}

impl Image {
    /// Reads what the driver is given: an address, of which the length is in the bytes. None if it is no image.
    pub(crate) fn read(start: *const c_void) -> Option<Self> {
        let start = start.cast::<u8>();
        if start.is_null() {
            return None;
        }
        let begins = |with: &[u8]| {
            // SAFETY: the driver's callers give images, or texts that end with 0; reading stops at the first byte that
            // differs.
            with.iter().enumerate().all(|(i, byte)| unsafe { start.add(i).read() } == *byte)
        };
        if begins(ELF) {
            // SAFETY: an image of this kind is as long as its header says.
            let bytes = unsafe { std::slice::from_raw_parts(start, object_bytes(start)) };
            return load(bytes).map(|library| Self::Object(ManuallyDrop::new(library)));
        }
        if !begins(LIST.as_bytes()) {
            return None;
        }
        // SAFETY: a text that ends with 0.
        let text = unsafe { std::ffi::CStr::from_ptr(start.cast()) }.to_string_lossy();
        Some(Self::List(text.lines().skip(1).map(String::from).collect()))
    }

    /// A kernel by its name; `registered` are those of tests.
    pub(crate) fn kernel(&self, name: &str, registered: &[Kernel]) -> Option<Kernel> {
        match self {
            Self::List(names) => {
                let listed = names.iter().any(|listed| listed == name);
                registered.iter().find(|kernel| listed && kernel.name == name).copied()
            }
            Self::Object(library) => {
                // SAFETY: the header says that an object of kernels exports these.
                let exported: *const Exported =
                    *unsafe { library.get(format!("sluice_kernel_{name}").as_bytes()) }.ok()?;
                // SAFETY: a constant of the object, which stays loaded.
                let exported: &'static Exported = unsafe { &*exported };
                let count = exported.parameter_count;
                let parameter_bytes = match count {
                    0 => &[],
                    // SAFETY: an array of so many sizes, of the object.
                    _ => unsafe { std::slice::from_raw_parts(exported.parameter_bytes, count) },
                };
                let name = Box::leak(name.to_string().into_boxed_str());
                Some(Kernel { name, parameter_bytes, function: exported.function?, raw: exported.raw })
            }
        }
    }
}

/// Length of a shared object.
fn object_bytes(start: *const u8) -> usize {
    // SAFETY: a 64-bit ELF file has its whole header.
    let header = unsafe { std::slice::from_raw_parts(start, HEADER_BYTES) };
    let short = |at: usize| usize::from(u16::from_le_bytes([header[at], header[at + 1]]));
    let at = u64::from_le_bytes(std::array::from_fn(|i| header[SECTIONS_AT + i])) as usize;
    at + short(SECTION_BYTES_AT) * short(SECTION_COUNT_AT)
}

fn load(bytes: &[u8]) -> Option<Library> {
    // SAFETY: a name that ends with 0.
    let file = unsafe { libc::memfd_create(c"sluice-cuda-sim-module".as_ptr(), libc::MFD_CLOEXEC) };
    if file < 0 {
        return None;
    }
    // SAFETY: a descriptor that nobody else has.
    let mut file = unsafe { std::fs::File::from_raw_fd(file) };
    file.write_all(bytes).ok()?;
    // SAFETY: a test's kernels, which have no initialisers that mind; a cubin is no object of this machine and is
    // refused by the loader.
    unsafe { Library::new(format!("/proc/self/fd/{}", file.as_raw_fd())) }.ok()
}
