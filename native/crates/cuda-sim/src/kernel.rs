//! Kernels: functions of the host that are run in the place of code for the device.

use std::ffi::c_void;

/// How a kernel is run: once per launch, whatever the grid is.
pub type KernelFunction = unsafe extern "C" fn(call: *const KernelCall);

/// A kernel that modules can name.
#[derive(Debug, Clone, Copy)]
pub struct Kernel {
    /// Its name in a module.
    pub name: &'static str,
    /// The sizes of its parameters in bytes: their values are copied when it is launched.
    pub parameter_bytes: &'static [usize],
    /// Runs it, on the thread that waits for it, while no other call of the driver is served. It does not call the
    /// driver.
    pub function: KernelFunction,
    /// Whether it reads and writes device memory by its addresses, like code for a GPU. All allocated memory is made
    /// accessible while it runs then, to other threads too, and its accesses are not seen: neither those of memory that
    /// is not allocated nor those that nothing puts in order. Otherwise it asks for each range
    /// ([`KernelCall::memory`]).
    pub raw: bool,
}

/// One launch of a kernel.
#[repr(C)]
pub struct KernelCall {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block.
    pub shared_bytes: u32,
    parameters: *const *const u8,
    parameter_count: usize,
    pub(crate) resolve: unsafe extern "C" fn(*mut c_void, u64, usize, bool) -> *mut u8,
    pub(crate) resolver: *mut c_void,
}

impl KernelCall {
    pub(crate) fn new(
        shape: Shape,
        parameters: &[*const u8],
        resolve: unsafe extern "C" fn(*mut c_void, u64, usize, bool) -> *mut u8,
        resolver: *mut c_void,
    ) -> Self {
        let Shape { grid, block, shared_bytes } = shape;
        let (count, parameters) = (parameters.len(), parameters.as_ptr());
        Self { grid, block, shared_bytes, parameters, parameter_count: count, resolve, resolver }
    }

    /// The value of a parameter.
    ///
    /// # Panics
    /// There is none of this number.
    ///
    /// # Safety
    /// `T` is its type, of the size that the kernel declares.
    pub unsafe fn parameter<T: Copy>(&self, index: usize) -> T {
        assert!(index < self.parameter_count, "the kernel has {} parameters", self.parameter_count);
        // SAFETY: the array has `parameter_count` addresses of values, which the caller knows the type of.
        unsafe { self.parameters.add(index).read().cast::<T>().read_unaligned() }
    }

    /// Where the kernel finds a range of device memory, to read it or to write it too. Null if it is not allocated: the
    /// access is reported, and the context broken as by an illegal address.
    pub fn memory(&self, address: u64, bytes: usize, write: bool) -> *mut u8 {
        // SAFETY: both were given by the simulator for this call.
        unsafe { (self.resolve)(self.resolver, address, bytes, write) }
    }
}

/// The shape of a launch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared_bytes: u32,
}
