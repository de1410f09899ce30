//! Code for the device: modules and their kernels.

use std::ffi::{CString, c_int};
use std::sync::Arc;

use crate::context::Context;
use crate::error::{CudaError, ErrorKind};
use crate::image;
use crate::reclaim::Late;
use crate::sys::{self, Functions};

/// What the driver's compiler of PTX may write about errors.
const LOG_BYTES: usize = 4096;

/// Loaded code. It stays loaded until the last of its kernels is dropped, too; that is after all work that uses it.
#[derive(Debug, Clone)]
pub struct Module {
    loaded: Arc<Loaded>,
}

#[derive(Debug)]
struct Loaded {
    context: Context,
    handle: sys::Module,
}

// SAFETY: a module's handle may be used by any thread, by several at a time.
unsafe impl Send for Loaded {}
// SAFETY: as above.
unsafe impl Sync for Loaded {}

impl Drop for Loaded {
    fn drop(&mut self) {
        let handle = self.handle.expose_provenance();
        let unload = move |calls: &Functions| {
            // SAFETY: the handle is given back once, and no kernel of it is left.
            unsafe { (calls.module_unload)(std::ptr::with_exposed_provenance_mut(handle)) }
        };
        self.context.give_back_waiting("cuModuleUnload", 0, Late::Made, unload);
    }
}

/// A function of a module that can be started.
#[derive(Debug, Clone)]
pub struct Kernel {
    module: Arc<Loaded>,
    handle: sys::Function,
}

// SAFETY: as for modules.
unsafe impl Send for Kernel {}
// SAFETY: as for modules.
unsafe impl Sync for Kernel {}

/// The shape of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block.
    pub shared_bytes: u32,
}

impl Launch {
    /// A row of blocks without dynamic shared memory.
    pub fn linear(blocks: u32, threads: u32) -> Self {
        Self { grid: [blocks, 1, 1], block: [threads, 1, 1], shared_bytes: 0 }
    }
}

impl Context {
    /// Loads a cubin, a fatbin or PTX. One that does not have all the bytes that its headers promise is refused here:
    /// the driver would read beyond its end.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`]: it has no code for this device; [`ErrorKind::DriverTooOld`]: its PTX is newer than
    /// the driver; [`ErrorKind::Rejected`], with the compiler's words; the device is lost.
    pub fn load(&self, image: &[u8]) -> Result<Module, CudaError> {
        if let Some(defect) = image::defect(image) {
            return Err(CudaError::new(ErrorKind::Rejected, format!("the module cannot be loaded: {defect}")));
        }
        // The driver finds the end of PTX by a 0; a copy also has the alignment that a cubin needs.
        let mut words = vec![0u64; image.len() / 8 + 1];
        for (word, bytes) in words.iter_mut().zip(image.chunks(8)) {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_ne_bytes(padded);
        }
        let mut log = vec![0u8; LOG_BYTES];
        let mut options: [c_int; 2] = [sys::JIT_ERROR_LOG_BUFFER, sys::JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        // Options are values of a pointer's size: an address, and a number in place of one.
        let mut values = [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(LOG_BYTES - 1)];
        let mut handle = std::ptr::null_mut();
        let loaded = self.call("cuModuleLoadDataEx", |calls| {
            // SAFETY: writes a handle, reads the image to its end, which its header or the 0 says, and writes the log
            // within its bounds.
            unsafe {
                let (options, values) = (options.as_mut_ptr(), values.as_mut_ptr());
                (calls.module_load)(&mut handle, words.as_ptr().cast(), 2, options, values)
            }
        });
        match loaded {
            Ok(()) => Ok(Module { loaded: Arc::new(Loaded { context: self.clone(), handle }) }),
            Err(error) => Err(error.with_log(&log)),
        }
    }
}

impl Module {
    /// Finds a kernel by its name in the code (`extern "C"`, or mangled).
    ///
    /// # Errors
    /// There is none, or the device is lost.
    pub fn kernel(&self, name: &str) -> Result<Kernel, CudaError> {
        let rejected = |_| CudaError::new(ErrorKind::Rejected, format!("a kernel's name contains a 0: {name:?}"));
        let c_name = CString::new(name).map_err(rejected)?;
        let mut handle = std::ptr::null_mut();
        self.loaded.context.call("cuModuleGetFunction", |calls| {
            // SAFETY: writes a handle; the module is loaded and the name ends with 0.
            unsafe { (calls.module_function)(&mut handle, self.loaded.handle, c_name.as_ptr()) }
        })?;
        let kernel = Kernel { module: Arc::clone(&self.loaded), handle };
        // The driver may load code only when it is first used; a question about it is a use that no task waits for.
        kernel.registers()?;
        Ok(kernel)
    }
}

impl Kernel {
    /// Lets launches have more dynamic shared memory than the 48 KiB that are allowed without asking.
    ///
    /// # Errors
    /// The device has less; it is lost.
    pub fn allow_shared_bytes(&self, bytes: u32) -> Result<(), CudaError> {
        let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
        let attribute = sys::FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the module is loaded.
        self.module.context.call("cuFuncSetAttribute", |calls| unsafe {
            (calls.function_set_attribute)(self.handle, attribute, bytes)
        })
    }

    /// Registers of each thread.
    ///
    /// # Errors
    /// The device is lost.
    pub fn registers(&self) -> Result<u32, CudaError> {
        self.attribute(sys::FUNC_ATTRIBUTE_NUM_REGS)
    }

    /// The most threads that a block can have.
    ///
    /// # Errors
    /// The device is lost.
    pub fn max_threads(&self) -> Result<u32, CudaError> {
        self.attribute(sys::FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
    }

    /// Blocks that a multiprocessor can have at a time.
    ///
    /// # Errors
    /// The device is lost.
    pub fn blocks_per_multiprocessor(&self, threads: u32, shared_bytes: usize) -> Result<u32, CudaError> {
        let (mut blocks, threads) = (0, c_int::try_from(threads).unwrap_or(c_int::MAX));
        self.module.context.call("cuOccupancyMaxActiveBlocksPerMultiprocessor", |calls| {
            // SAFETY: writes a number; the module is loaded.
            unsafe { (calls.blocks_per_multiprocessor)(&mut blocks, self.handle, threads, shared_bytes) }
        })?;
        Ok(u32::try_from(blocks).unwrap_or(0))
    }

    fn attribute(&self, attribute: c_int) -> Result<u32, CudaError> {
        let mut value = 0;
        self.module.context.call("cuFuncGetAttribute", |calls| {
            // SAFETY: writes a number; the module is loaded.
            unsafe { (calls.function_attribute)(&mut value, attribute, self.handle) }
        })?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    pub(crate) fn handle(&self) -> sys::Function {
        self.handle
    }
}
