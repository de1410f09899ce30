//! Batches whose columns come one by one, each with a schema of its own, as engines in the JVM hand them over.

use std::ffi::CString;
use std::ptr::{null, null_mut};

use sluice_codec::MAX_FIELDS;

use crate::batch::Batch;
use crate::error::{ColumnError, Result};
use crate::ffi::{ArrowArray, ArrowSchema};
use crate::format::Type;
use crate::owned::{self, OwnedArray, OwnedSchema};
use crate::schema::{Field, Schema};

impl Batch {
    /// The batch of these columns. `expected` are the types that the receiver has in mind: each column must have the
    /// values of its type, in whatever layout, and whether in a dictionary or not.
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
        expected: &Formats,
    ) -> Result<Self> {
        let types = &expected.schema.fields;
        if arrays.len() != types.len() || schemas.len() != arrays.len() {
            let (arrays, schemas, want) = (arrays.len(), schemas.len(), types.len());
            return Err(ColumnError::invalid(format!("{arrays} arrays and {schemas} schemas for {want} columns")));
        }
        let field = |(i, schema): (usize, &OwnedSchema)| -> Result<Field> {
            // SAFETY: as the caller promises.
            let field = unsafe { Field::read(&schema.0) }.map_err(|e| e.at(format_args!("column {i}")))?;
            if same_values(field.ty, types[i].ty) {
                return Ok(field);
            }
            // SAFETY: as above; `Field::read` has followed the same pointers.
            let have = unsafe { values_format(&schema.0) };
            let (place, want) = (field.place(i), &expected.formats[i]);
            let what = format!("{place} has values of format '{have}', '{}' is expected", want.to_string_lossy());
            Err(ColumnError::unsupported(what))
        };
        let fields = schemas.iter().enumerate().map(field).collect::<Result<Vec<_>>>()?;
        // SAFETY: a struct of arrays that are as the caller promises.
        unsafe { Self::import(parent(arrays, rows), &Schema { fields }) }
    }
}

/// The format of a column's values, not of its indices.
///
/// # Safety
/// What the schema refers to is as the interface defines it.
unsafe fn values_format(schema: &ArrowSchema) -> String {
    // SAFETY: null or valid, by the interface; a format is null or a string that ends with 0.
    unsafe { owned::text(schema.dictionary.as_ref().unwrap_or(schema).format).unwrap_or_default() }
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

/// The children of the struct around columns; owned by it.
type Children = Vec<*mut ArrowArray>;

/// A struct whose children are these arrays. It has no buffer, not even a null one for a mask: only `import` sees it.
fn parent(arrays: Vec<OwnedArray>, rows: usize) -> OwnedArray {
    let children: Children = arrays.into_iter().map(|array| Box::into_raw(Box::new(array.into_raw()))).collect();
    let count = children.len() as i64;
    let children = Box::into_raw(Box::new(children));
    // SAFETY: just made. The pointer is taken where the vector stays until `release_parent`.
    let first = unsafe { (*children).as_mut_ptr() };
    OwnedArray::made(ArrowArray {
        length: rows as i64,
        n_children: count,
        children: first,
        release: Some(release_parent),
        private_data: children.cast(),
        ..ArrowArray::released()
    })
}

/// Frees a struct of [`parent`] and releases its children.
///
/// # Safety
/// `array` is such a struct, not released yet, and valid for reads and writes.
unsafe extern "C" fn release_parent(array: *mut ArrowArray) {
    // SAFETY: only `parent` sets this callback, and `private_data` with it to a box of `Children`; it is freed once, as
    // `release` is null afterwards. Each child is a box of `parent` too; dropping an `OwnedArray` releases it once.
    unsafe {
        let children = Box::from_raw((*array).private_data.cast::<Children>());
        for child in children.iter() {
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
    /// `Unsupported` for nested types and others that are no columns here; `Invalid` for what is no format, and for
    /// more than [`MAX_FIELDS`].
    pub fn parse<'f>(formats: impl IntoIterator<Item = &'f str>) -> Result<Self> {
        let mut all = Self { formats: Vec::new(), schema: Schema { fields: Vec::new() } };
        for (i, format) in formats.into_iter().enumerate() {
            if i >= MAX_FIELDS as usize {
                return Err(ColumnError::invalid(format!("more than {MAX_FIELDS} columns")));
            }
            let ty = Type::parse(format).map_err(|e| e.at(format_args!("column {i}")))?;
            // Any text is a time zone as far as the type is concerned, but the interface's strings end with a 0.
            let text = CString::new(format).map_err(|_| {
                let format = format.escape_debug();
                ColumnError::invalid(format!("column {i}: format '{format}' has a 0 in it"))
            })?;
            all.schema.fields.push(Field { name: String::new(), ty, index: None });
            all.formats.push(text);
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
