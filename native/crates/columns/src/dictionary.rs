//! Dictionaries, decoded: each row gets its value, so that nothing behind has to know of indices.

use crate::bits::Bits;
use crate::buffer::Buffer;
use crate::column::{Column, SIXTEEN, Values};
use crate::error::{ColumnError, Result};
use crate::import::width;
use crate::room::{all_of, collected, room};

/// The column of the values that the indices point to.
pub(crate) fn decode(indices: Column, values: Column) -> Result<Column> {
    let places = places(&indices, values.rows)?;
    let valid = |row: usize| indices.is_valid(row) && values.is_valid(places[row]);
    let all_valid = indices.valid.is_none() && values.valid.is_none() && !matches!(values.values, Values::Null);
    let mask = if all_valid { None } else { Some(Bits::of((0..indices.rows).map(valid))?) };
    Ok(Column { ty: values.ty, rows: indices.rows, valid: mask, values: pick(values, &places)? })
}

/// Where each row's value is; 0 for rows that have none.
fn places(indices: &Column, count: usize) -> Result<Vec<usize>> {
    let unused = 64 - 8 * width(indices.ty) as u32;
    let place = |row: usize| {
        if !indices.is_valid(row) {
            return Ok(0);
        }
        let word = indices.word(row);
        let index = if indices.ty.is_signed() { (word << unused) as i64 >> unused } else { word as i64 };
        match usize::try_from(index) {
            Ok(place) if place < count => Ok(place),
            _ => Err(ColumnError::invalid(format!("row {row}: index {index}, the dictionary has {count} values"))),
        }
    };
    all_of((0..indices.rows).map(place))
}

/// The values at these places. A dictionary without values has none for rows, which are all null then.
fn pick(values: Column, places: &[usize]) -> Result<Values> {
    let some = values.rows > 0;
    Ok(match values.values {
        Values::Null => Values::Null,
        Values::Bits(_) | Values::Fixed { .. } | Values::Words(_) => {
            Values::Words(collected(places.iter().map(|place| if some { values.word(*place) } else { 0 }))?)
        }
        Values::WideDecimals(data) => Values::WideDecimals(sixteen(&data, places)?),
        Values::Intervals(data) => Values::Intervals(sixteen(&data, places)?),
        Values::Views { views, buffers } => Values::Views { views: sixteen(&views, places)?, buffers },
        _ => {
            let spans = collected(places.iter().map(|place| if some { values.span(*place) } else { (0, 0) }))?;
            Values::Spans { spans, data: values.into_data() }
        }
    })
}

fn sixteen(data: &Buffer, places: &[usize]) -> Result<Buffer> {
    let values: &[[u8; SIXTEEN]] = data.values();
    let mut picked = room(places.len() * SIXTEEN)?;
    for place in places {
        picked.extend_from_slice(&values.get(*place).copied().unwrap_or_default());
    }
    Ok(Buffer::Own(picked))
}
