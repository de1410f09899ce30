//! Arrays and schemas whose release is counted. What they refer to is freed by the first release, so that a sanitizer
//! notices a use afterwards, and a second release.

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sluice_columns::ffi::{ArrowArray, ArrowArrayStream, ArrowSchema};
use sluice_columns::{Batch, ColumnError, OwnedArray, Schema};

/// How often a thing was released.
#[derive(Debug, Clone, Default)]
pub struct Releases(Arc<AtomicUsize>);

impl Releases {
    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// What an array is to have; right or wrong.
#[derive(Debug, Clone, Default)]
pub struct ArraySpec {
    pub length: i64,
    pub null_count: i64,
    pub offset: i64,
    /// None is a null address.
    pub buffers: Vec<Option<Vec<u8>>>,
    pub children: Vec<ArraySpec>,
    pub dictionary: Option<Box<ArraySpec>>,
    /// Instead of the number of buffers.
    pub n_buffers: Option<i64>,
    /// Instead of the number of children.
    pub n_children: Option<i64>,
    /// Whether it is released before it is handed over.
    pub released: bool,
    /// Whether it leaves `release` as it is when it is released.
    pub keeps_release: bool,
}

struct ArrayContents {
    addresses: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
    dictionary: *mut ArrowArray,
    buffers: Vec<Option<Box<[u8]>>>,
    keeps_release: bool,
    releases: Releases,
}

impl ArraySpec {
    pub fn build(&self, releases: &Releases) -> ArrowArray {
        // Exactly as long as they should be, on the heap, so that a sanitizer notices a read behind them.
        let buffers: Vec<Option<Box<[u8]>>> =
            self.buffers.iter().map(|b| b.clone().map(Vec::into_boxed_slice)).collect();
        let children = self.children.iter().map(|child| Box::into_raw(Box::new(child.build(&Releases::default()))));
        let dictionary = self.dictionary.as_ref();
        let mut contents = Box::new(ArrayContents {
            addresses: buffers.iter().map(|b| b.as_ref().map_or(null(), |b| b.as_ptr().cast())).collect(),
            children: children.collect(),
            dictionary: dictionary.map_or(null_mut(), |d| Box::into_raw(Box::new(d.build(&Releases::default())))),
            buffers,
            keeps_release: self.keeps_release,
            releases: releases.clone(),
        });
        let mut array = ArrowArray {
            length: self.length,
            null_count: self.null_count,
            offset: self.offset,
            n_buffers: self.n_buffers.unwrap_or(self.buffers.len() as i64),
            n_children: self.n_children.unwrap_or(self.children.len() as i64),
            buffers: contents.addresses.as_mut_ptr(),
            children: contents.children.as_mut_ptr(),
            dictionary: contents.dictionary,
            release: Some(release_array),
            private_data: Box::into_raw(contents).cast(),
        };
        if self.released {
            // SAFETY: just made.
            unsafe { release_array(&mut array) };
        }
        array
    }
}

unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: `build` made it, and it is released once, which the test counts.
    unsafe {
        let contents = Box::from_raw((*array).private_data.cast::<ArrayContents>());
        contents.releases.0.fetch_add(1, Ordering::SeqCst);
        for child in contents.children.iter().copied().chain([contents.dictionary]).filter(|c| !c.is_null()) {
            let mut child = Box::from_raw(child);
            if let Some(release) = child.release {
                release(&mut *child);
            }
        }
        if !contents.keeps_release {
            (*array).release = None;
        }
    }
}

/// Frees the buffers of an array that its consumer still has.
///
/// # Safety
///
/// [`ArraySpec::build`] made it, and it has not been released.
pub unsafe fn free_buffers_early(array: *mut ArrowArray) {
    // SAFETY: as the caller says.
    unsafe { (*(*array).private_data.cast::<ArrayContents>()).buffers.clear() };
}

/// What a schema is to have.
#[derive(Debug, Clone, Default)]
pub struct SchemaSpec {
    pub format: String,
    pub name: String,
    pub children: Vec<SchemaSpec>,
    pub dictionary: Option<Box<SchemaSpec>>,
    /// Whether it is released before it is handed over.
    pub released: bool,
    /// Of all schemas that are built of it or of a copy.
    pub releases: Releases,
}

impl SchemaSpec {
    pub fn of(format: &str) -> Self {
        Self { format: format.into(), name: format!("a '{format}'"), ..Self::default() }
    }

    pub fn dictionary(index: &str, values: &str) -> Self {
        Self { dictionary: Some(Box::new(Self::of(values))), ..Self::of(index) }
    }

    pub fn batch(columns: Vec<Self>) -> Self {
        Self { children: columns, ..Self::of("+s") }
    }

    pub fn build(&self) -> ArrowSchema {
        let children = self.children.iter().map(|child| Box::into_raw(Box::new(child.build())));
        let mut contents = Box::new(SchemaContents {
            format: CString::new(self.format.clone()).expect("no 0"),
            name: CString::new(self.name.clone()).expect("no 0"),
            children: children.collect(),
            dictionary: self.dictionary.as_ref().map_or(null_mut(), |d| Box::into_raw(Box::new(d.build()))),
            releases: self.releases.clone(),
        });
        let mut schema = ArrowSchema {
            format: contents.format.as_ptr(),
            name: contents.name.as_ptr(),
            metadata: null(),
            flags: 2,
            n_children: contents.children.len() as i64,
            children: contents.children.as_mut_ptr(),
            dictionary: contents.dictionary,
            release: Some(release_schema),
            private_data: Box::into_raw(contents).cast(),
        };
        if self.released {
            // SAFETY: just made.
            unsafe { release_schema(&mut schema) };
        }
        schema
    }

    /// Read by the crate.
    pub fn read(&self) -> Result<Schema, ColumnError> {
        let mut schema = self.build();
        // SAFETY: just made, released below.
        let read = unsafe { Schema::read(&schema) };
        // SAFETY: made above, released once.
        unsafe { release_schema(&mut schema) };
        read
    }
}

struct SchemaContents {
    format: CString,
    name: CString,
    children: Vec<*mut ArrowSchema>,
    dictionary: *mut ArrowSchema,
    releases: Releases,
}

unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: `build` made it, and it is released once, which the test counts.
    unsafe {
        let contents = Box::from_raw((*schema).private_data.cast::<SchemaContents>());
        contents.releases.0.fetch_add(1, Ordering::SeqCst);
        for child in contents.children.iter().copied().chain([contents.dictionary]).filter(|c| !c.is_null()) {
            let mut child = Box::from_raw(child);
            if let Some(release) = child.release {
                release(&mut *child);
            }
        }
        (*schema).release = None;
    }
}

/// A batch of columns of `rows` rows.
pub fn batch_of(rows: i64, columns: Vec<ArraySpec>) -> ArraySpec {
    ArraySpec { length: rows, buffers: vec![None], children: columns, ..ArraySpec::default() }
}

/// Imports a batch. However that ends, its array must be released exactly once, when the batch is dropped.
pub fn import(batch: &ArraySpec, schema: &SchemaSpec) -> (Result<Batch, ColumnError>, Releases) {
    let releases = Releases::default();
    let mut array = batch.build(&releases);
    let schema = schema.read().expect("a schema");
    // SAFETY: made by `build`.
    let batch = unsafe { OwnedArray::take(&mut array).and_then(|array| Batch::import(array, &schema)) };
    assert!(array.release.is_none(), "the source counts as released");
    (batch, releases)
}

/// A stream that gives these batches, then an error if there is one, else its end.
pub struct StreamSpec {
    pub schema: SchemaSpec,
    pub batches: Vec<ArraySpec>,
    pub error: Option<&'static str>,
    pub schema_error: bool,
}

struct StreamContents {
    spec: StreamSpec,
    next: usize,
    error: CString,
    batches: Releases,
    releases: Releases,
}

impl StreamSpec {
    /// Releases of batches and of the stream are counted.
    pub fn build(self, batches: &Releases, releases: &Releases) -> ArrowArrayStream {
        let error = CString::new(self.error.unwrap_or("no schema")).expect("no 0");
        let (batches, releases) = (batches.clone(), releases.clone());
        let contents = Box::new(StreamContents { spec: self, next: 0, error, batches, releases });
        ArrowArrayStream {
            get_schema: Some(get_schema),
            get_next: Some(get_next),
            get_last_error: Some(get_last_error),
            release: Some(release_stream),
            private_data: Box::into_raw(contents).cast(),
        }
    }
}

unsafe fn contents<'s>(stream: *mut ArrowArrayStream) -> &'s mut StreamContents {
    // SAFETY: `build` made it; one call at a time.
    unsafe { &mut *(*stream).private_data.cast() }
}

unsafe extern "C" fn get_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: as the interface says.
    unsafe {
        let contents = contents(stream);
        if contents.spec.schema_error {
            return 5;
        }
        out.write(contents.spec.schema.build());
        0
    }
}

unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: as the interface says.
    unsafe {
        let contents = contents(stream);
        let next = contents.spec.batches.get(contents.next);
        contents.next += 1;
        match next {
            Some(batch) => out.write(batch.build(&contents.batches)),
            None if contents.spec.error.is_some() => return 22,
            None => out.write(ArrowArray::released()),
        }
        0
    }
}

unsafe extern "C" fn get_last_error(stream: *mut ArrowArrayStream) -> *const c_char {
    // SAFETY: as the interface says.
    unsafe { contents(stream).error.as_ptr() }
}

unsafe extern "C" fn release_stream(stream: *mut ArrowArrayStream) {
    // SAFETY: `build` made it, and it is released once, which the test counts.
    unsafe {
        let contents = Box::from_raw((*stream).private_data.cast::<StreamContents>());
        contents.releases.0.fetch_add(1, Ordering::SeqCst);
        (*stream).release = None;
    }
}
