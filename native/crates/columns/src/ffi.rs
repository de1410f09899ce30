//! The structs of Arrow's C Data Interface, C Device Data Interface and C Stream Interface, as
//! <https://arrow.apache.org/docs/format/CDataInterface.html> and `CStreamInterface.html` define them.
//!
//! A struct is *released* when its `release` is null. Who owns a struct that is not must see to it that its `release`
//! is called exactly once; [`crate::OwnedArray`] and [`crate::OwnedStream`] do. A callback returns: it must not unwind,
//! and one that calls into a JVM must not leave an exception pending, as the next callback is called behind it.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;

/// The type of an array; its children are those of a nested type, for a batch its columns.
#[repr(C)]
#[derive(Debug)]
pub struct ArrowSchema {
    /// The type, as a string that ends with 0.
    pub format: *const c_char,
    /// The field's name, null or a string that ends with 0.
    pub name: *const c_char,
    /// Not looked at.
    pub metadata: *const c_char,
    /// Bits: 1 dictionary ordered, 2 nullable, 4 map keys sorted.
    pub flags: i64,
    /// How many children there are.
    pub n_children: i64,
    /// Their addresses.
    pub children: *mut *mut ArrowSchema,
    /// The type of a dictionary's values, else null; the format is that of the indices.
    pub dictionary: *mut ArrowSchema,
    /// Frees it; null when it has been.
    pub release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    /// The producer's.
    pub private_data: *mut c_void,
}

/// An array: its buffers, which nobody writes to while it is not released. Their lengths follow from its own and its
/// type.
#[repr(C)]
#[derive(Debug)]
pub struct ArrowArray {
    /// Values, those before `offset` not counted.
    pub length: i64,
    /// How many of them are null; -1 if that is not known.
    pub null_count: i64,
    /// Values at the buffers' beginning that are not the array's.
    pub offset: i64,
    /// How many buffers there are.
    pub n_buffers: i64,
    /// How many children there are.
    pub n_children: i64,
    /// The buffers' addresses.
    pub buffers: *mut *const c_void,
    /// The children's addresses.
    pub children: *mut *mut ArrowArray,
    /// A dictionary's values, else null.
    pub dictionary: *mut ArrowArray,
    /// Frees it with its children and its dictionary; null when it has been.
    pub release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    /// The producer's.
    pub private_data: *mut c_void,
}

impl ArrowArray {
    /// A released array.
    pub fn released() -> Self {
        Self {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: null_mut(),
            children: null_mut(),
            dictionary: null_mut(),
            release: None,
            private_data: null_mut(),
        }
    }
}

/// An array in the memory of a device, as
/// <https://arrow.apache.org/docs/format/CDeviceDataInterface.html> defines it.
#[repr(C)]
#[derive(Debug)]
pub struct ArrowDeviceArray {
    /// Its buffers are addresses of the device; its release is that of the whole.
    pub array: ArrowArray,
    /// Which device of its kind.
    pub device_id: i64,
    /// The kind of the device: 2 for a GPU of NVIDIA's, 13 for memory that CUDA manages.
    pub device_type: i32,
    /// The address of an event after which the buffers may be read; null if they may be at once.
    pub sync_event: *mut c_void,
    /// Zeros.
    pub reserved: [i64; 3],
}

/// A source of batches of one type.
#[repr(C)]
#[derive(Debug)]
pub struct ArrowArrayStream {
    /// Writes the batches' type; 0, or an errno.
    pub get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    /// Writes the next batch, a released one at the end; 0, or an errno.
    pub get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    /// What went wrong, null or a string that ends with 0 and that the next call may free.
    pub get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    /// Frees it; null when it has been. Batches that came from it stay.
    pub release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    /// The producer's.
    pub private_data: *mut c_void,
}
