//! The columns that a batch has.

use sluice_codec::MAX_FIELDS;

use crate::error::{ColumnError, Result};
use crate::ffi::ArrowSchema;
use crate::format::Type;
use crate::owned;

/// One column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// For messages; empty if it has none.
    pub name: String,
    /// Of the values.
    pub ty: Type,
    /// Of the indices, if the values are a dictionary's.
    pub index: Option<Type>,
}

/// The columns of a batch. Which of them can be null is not part of it: a batch's arrays say which values are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// In order.
    pub fields: Vec<Field>,
}

impl Schema {
    /// Reads the schema of batches, a struct whose children are the columns. It is not released.
    ///
    /// # Errors
    /// `Unsupported` when there are columns of nested types, or of types that rows of Spark do not have; `Invalid` when
    /// it is no schema.
    ///
    /// # Safety
    /// `schema` is null or valid, and what it refers to is as the interface defines it.
    pub unsafe fn read(schema: *const ArrowSchema) -> Result<Self> {
        // SAFETY: valid or null, as the caller promises.
        let Some(schema) = (unsafe { schema.as_ref() }) else {
            return Err(ColumnError::invalid("the schema's address is null"));
        };
        check_not_released(schema)?;
        // SAFETY: null or a string, by the interface.
        let format = unsafe { format_of(schema)? };
        if format != "+s" {
            let format = format.escape_debug();
            return Err(ColumnError::invalid(format!("a batch is a struct (format '+s'), this has format '{format}'")));
        }
        let children = u32::try_from(schema.n_children).ok().filter(|n| *n <= MAX_FIELDS);
        let Some(children) = children else {
            return Err(ColumnError::invalid(format!("schema of {} columns", schema.n_children)));
        };
        if children > 0 && schema.children.is_null() {
            return Err(ColumnError::invalid(format!("schema of {children} columns that are not there")));
        }
        let field = |i: u32| {
            // SAFETY: `children` is not null, so by the interface it has `n_children` elements, and i is below that;
            // each is null or valid.
            let child = unsafe { (*schema.children.add(i as usize)).as_ref() };
            // SAFETY: as above.
            child.ok_or_else(|| ColumnError::invalid("is not there")).and_then(|child| unsafe { Field::read(child) })
        };
        let fields = (0..children).map(|i| field(i).map_err(|e| e.at(format_args!("schema of column {i}"))));
        Ok(Self { fields: fields.collect::<Result<_>>()? })
    }

    /// An error unless batches of the other schema are batches of this one.
    pub(crate) fn check_same(&self, other: &Self) -> Result<()> {
        if self.fields.len() != other.fields.len() {
            let (here, before) = (other.fields.len(), self.fields.len());
            return Err(ColumnError::invalid(format!("the schema changed: {here} columns, {before} before")));
        }
        for (i, (before, here)) in self.fields.iter().zip(&other.fields).enumerate() {
            if before.ty != here.ty {
                let (place, here, before) = (here.place(i), here.ty, before.ty);
                let what = format!("the schema changed: {place} is {here:?}, {before:?} before");
                return Err(ColumnError::invalid(what));
            }
        }
        Ok(())
    }
}

impl Field {
    /// For messages: that it is column `i`, and its name if it has one.
    pub(crate) fn place(&self, i: usize) -> String {
        if self.name.is_empty() { format!("column {i}") } else { format!("column {i} ('{}')", self.name) }
    }

    /// # Safety
    /// What the schema refers to is as the interface defines it.
    pub(crate) unsafe fn read(schema: &ArrowSchema) -> Result<Self> {
        check_not_released(schema)?;
        // SAFETY: as the caller promises; a name is null or a string.
        let (format, name) = unsafe { (format_of(schema)?, owned::text(schema.name).unwrap_or_default()) };
        let ty = Type::parse(&format)?;
        // SAFETY: null or valid, by the interface.
        let Some(values) = (unsafe { schema.dictionary.as_ref() }) else {
            return Ok(Self { name, ty, index: None });
        };
        if !ty.is_index() {
            return Err(ColumnError::invalid(format!("dictionary indices of type {ty:?}")));
        }
        check_not_released(values).map_err(|e| e.at("dictionary"))?;
        if !values.dictionary.is_null() {
            return Err(ColumnError::unsupported("a dictionary whose values are a dictionary's"));
        }
        // SAFETY: as the caller promises.
        let format = unsafe { format_of(values)? };
        let values = Type::parse(&format).map_err(|e| e.at("dictionary"))?;
        Ok(Self { name, ty: values, index: Some(ty) })
    }
}

fn check_not_released(schema: &ArrowSchema) -> Result<()> {
    if schema.release.is_none() {
        return Err(ColumnError::invalid("the schema has been released"));
    }
    Ok(())
}

/// # Safety
/// The format is null or a string that ends with 0.
unsafe fn format_of(schema: &ArrowSchema) -> Result<String> {
    // SAFETY: as the caller promises.
    unsafe { owned::text(schema.format) }.ok_or_else(|| ColumnError::invalid("the format is null"))
}
