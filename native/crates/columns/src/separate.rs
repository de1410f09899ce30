//! Batches whose columns come one by one, each with a schema of its own, as engines in the JVM hand them over.

use std::ffi::{CString, c_void};
use std::ptr::{null, null_mut};

use crate::batch::Batch;
use crate::error::{ColumnError, Result};
use crate::ffi::{ArrowArray, ArrowSchema};
use crate::format::Type;
use crate::owned::{OwnedArray, OwnedSchema};
use crate::schema::{Field, Schema};

impl Batch {
    /// The batch of these columns. `expected` are the types that the receiver has in mind: each column must have the
    /// values of its type, in whatever layout.
    ///
    /// # Errors
    /// `Unsupported` when a column has values of another type; else those of [`Batch::import`]. All arrays and schemas
    /// are released then.
    ///
    /// # Safety
    /// As for [`Batch::import`], of each array; the schemas are as the interface defines them.
    pub unsafe fn of_columns(
        arrays: Vec<OwnedArray>,
        schemas: Vec<OwnedSchema>,
        rows: usize,
        expected: &Schema,
    ) -> Result<Self> {
        if arrays.len() != expected.fields.len() || schemas.len() != arrays.len() {
            let (arrays, schemas, want) = (arrays.len(), schemas.len(), expected.fields.len());
            return Err(ColumnError::invalid(format!("{arrays} arrays and {schemas} schemas for {want} columns")));
        }
        let field = |(i, schema): (usize, &OwnedSchema)| {
            // SAFETY: as the caller promises.
            unsafe { Field::read(&schema.0) }
                .and_then(|field| check_values(&field, &expected.fields[i]).map(|()| field))
                .map_err(|e| e.at(format_args!("column {i}")))
        };
        let fields = schemas.iter().enumerate().map(field).collect::<Result<Vec<_>>>()?;
        // SAFETY: a struct of arrays that are as the caller promises.
        unsafe { Self::import(parent(arrays, rows), &Schema { fields }) }
    }
}

fn check_values(field: &Field, expected: &Field) -> Result<()> {
    if same_values(field.ty, expected.ty) {
        return Ok(());
    }
    let what = format!("('{}') has values of type {:?}, {:?} was expected", field.name, field.ty, expected.ty);
    Err(ColumnError::unsupported(what))
}

/// Whether the values of both have the same place in a row and the same hash.
fn same_values(one: Type, other: Type) -> bool {
    match (one, other) {
        (Type::Utf8(_), Type::Utf8(_)) | (Type::Binary(_), Type::Binary(_)) => true,
        (Type::Timestamp { .. }, Type::Timestamp { .. }) => true,
        (Type::Decimal { precision, scale, .. }, Type::Decimal { precision: p, scale: s, .. }) => {
            precision == p && scale == s
        }
        _ => one == other,
    }
}

/// What the struct around columns refers to; owned by it.
struct Contents {
    children: Vec<*mut ArrowArray>,
    buffers: [*const c_void; 1],
}

/// A struct whose children are these arrays.
fn parent(arrays: Vec<OwnedArray>, rows: usize) -> OwnedArray {
    let children = arrays.into_iter().map(|array| Box::into_raw(Box::new(array.into_raw())));
    let mut contents = Box::new(Contents { children: children.collect(), buffers: [null()] });
    OwnedArray::made(ArrowArray {
        length: rows as i64,
        null_count: 0,
        offset: 0,
        n_buffers: 1,
        n_children: contents.children.len() as i64,
        buffers: contents.buffers.as_mut_ptr(),
        children: contents.children.as_mut_ptr(),
        dictionary: null_mut(),
        release: Some(release_parent),
        private_data: Box::into_raw(contents).cast(),
    })
}

/// Frees a struct of [`parent`] and releases its children.
///
/// # Safety
/// `array` is such a struct, not released yet, and valid for reads and writes.
unsafe extern "C" fn release_parent(array: *mut ArrowArray) {
    // SAFETY: only `parent` sets this callback, and `private_data` with it to a box of `Contents`; it is freed once, as
    // `release` is null afterwards. Each child is a box of `parent` too; dropping an `OwnedArray` releases it once.
    unsafe {
        let contents = Box::from_raw((*array).private_data.cast::<Contents>());
        for child in &contents.children {
            drop(OwnedArray::made(*Box::from_raw(*child)));
        }
        (*array).release = None;
        (*array).private_data = null_mut();
    }
}

/// The columns that a receiver wants, by format strings; for schemas of the arrays that it gets too.
#[derive(Debug)]
pub struct Formats {
    formats: Vec<CString>,
    schema: Schema,
}

impl Formats {
    /// Of these format strings, which have no dictionaries.
    ///
    /// # Errors
    /// `Unsupported` for nested types and others that are no columns here.
    pub fn parse<'f>(formats: impl IntoIterator<Item = &'f str>) -> Result<Self> {
        let mut all = Self { formats: Vec::new(), schema: Schema { fields: Vec::new() } };
        for (i, format) in formats.into_iter().enumerate() {
            let ty = Type::parse(format).map_err(|e| e.at(format_args!("column {i}")))?;
            all.schema.fields.push(Field { name: String::new(), ty, index: None });
            // A format that was parsed has no 0 in it.
            all.formats.push(CString::new(format).unwrap_or_default());
        }
        Ok(all)
    }

    /// As a schema.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The schema of column `i`, nullable and without a name, which the receiver has to release.
    pub fn export(&self, i: usize) -> ArrowSchema {
        let format = Box::new(self.formats[i].clone());
        ArrowSchema {
            format: format.as_ptr(),
            name: c"".as_ptr(),
            metadata: null(),
            flags: NULLABLE,
            n_children: 0,
            children: null_mut(),
            dictionary: null_mut(),
            release: Some(release_schema),
            private_data: Box::into_raw(format).cast(),
        }
    }
}

const NULLABLE: i64 = 2;

/// Frees a schema of [`Formats::export`].
///
/// # Safety
/// `schema` is such a schema, not released yet, and valid for reads and writes.
unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: only `export` sets this callback, and `private_data` with it to a box of a string; it is freed once, as
    // `release` is null afterwards.
    unsafe {
        drop(Box::from_raw((*schema).private_data.cast::<CString>()));
        (*schema).release = None;
        (*schema).private_data = null_mut();
    }
}
