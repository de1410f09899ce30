//! Rows without a byte of data, as many as a batch can have, and as many partitions as there can be: there is no memory
//! for a number of each.

use std::ffi::{CStr, c_void};
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

/// Counts the frames in `context`.
unsafe extern "C" fn sink(context: *mut c_void, _: u32, _: *const u8, _: usize) -> i32 {
    // SAFETY: the test's counter.
    unsafe { *context.cast::<i32>() += 1 };
    0
}

fn no_columns() -> ArrowSchema {
    ArrowSchema {
        format: c"+s".as_ptr(),
        name: null(),
        metadata: null(),
        flags: 0,
        n_children: 0,
        children: null_mut(),
        dictionary: null_mut(),
        release: Some(release_schema),
        private_data: null_mut(),
    }
}

#[test]
fn four_billion_rows_of_no_columns_are_an_error() {
    let schema = no_columns();
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

#[test]
fn two_billion_partitions_are_an_error_and_the_encoder_goes_on() {
    let schema = no_columns();
    let mut array = ArrowArray { length: 3, release: Some(release_array), ..ArrowArray::released() };
    let (mut read, mut batch, mut encoder) = (null_mut(), null_mut(), null_mut());
    let ids = [0u32, 1, 1];
    let mut frames = 0i32;
    // SAFETY: the pointers are valid, and the handles those that the library gives; freed once, at the end.
    unsafe {
        assert_eq!(sluice::sluice_schema_new(&schema, &mut read), 0);
        assert_eq!(sluice::sluice_batch_import(read, &mut array, &mut batch), 0);
        assert_eq!(sluice::sluice_encoder_new(1, 1, &mut encoder), 0);
        let (batches, ids) = ([batch.cast_const()], [ids.as_ptr()]);
        let context = (&raw mut frames).cast();
        let encode = |partitions| {
            sluice::sluice_encode(encoder, batches.as_ptr(), 1, ids.as_ptr(), partitions, Some(sink), context)
        };
        assert_eq!(permitting(64 << 20, || encode(i32::MAX as u32)), NO_MEMORY);
        let message = CStr::from_ptr(sluice::sluice_last_error()).to_string_lossy().into_owned();
        assert!(message.contains("no memory for 2147483647 values"), "{message}");
        assert_eq!((encode(2), *context.cast::<i32>()), (0, 2));
        sluice::sluice_encoder_free(encoder);
        sluice::sluice_batch_free(batch);
        sluice::sluice_schema_free(read);
    }
}
