//! Rows without a byte of data, as many as a batch can have: there is no memory for a number of each.

use std::ffi::CStr;
use std::ptr::{NonNull, null, null_mut};

use sluice_columns::ffi::{ArrowArray, ArrowSchema};
use sluice_testkit::memory::{RefusingAllocator, permitting};

#[global_allocator]
static ALLOCATOR: RefusingAllocator = RefusingAllocator;

const NO_MEMORY: i32 = 5;

unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: valid, by the interface.
    unsafe { (*schema).release = None };
}

unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: valid, by the interface.
    unsafe { (*array).release = None };
}

#[test]
fn four_billion_rows_of_no_columns_are_an_error() {
    let schema = ArrowSchema {
        format: c"+s".as_ptr(),
        name: null(),
        metadata: null(),
        flags: 0,
        n_children: 0,
        children: null_mut(),
        dictionary: null_mut(),
        release: Some(release_schema),
        private_data: null_mut(),
    };
    let mut array = ArrowArray { length: 4_000_000_000, release: Some(release_array), ..ArrowArray::released() };
    let (mut read, mut batch) = (null_mut(), null_mut());
    // SAFETY: the pointers are valid, and the handles those that the library gives; freed once, at the end.
    unsafe {
        assert_eq!(sluice::sluice_schema_new(&schema, &mut read), 0);
        assert_eq!(sluice::sluice_batch_import(read, &mut array, &mut batch), 0);
        // There is no memory for the numbers, so that nothing is written where they would go.
        let partition = || sluice::sluice_partition_hash(batch, null(), 0, 4, NonNull::dangling().as_ptr());
        assert_eq!(permitting(64 << 20, partition), NO_MEMORY);
        let message = CStr::from_ptr(sluice::sluice_last_error()).to_string_lossy();
        assert!(message.contains("no memory for 4000000000 values"), "{message}");
        sluice::sluice_batch_free(batch);
        sluice::sluice_schema_free(read);
    }
}
