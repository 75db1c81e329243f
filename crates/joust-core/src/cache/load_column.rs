//! Reading one column of one fragment whole.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, new_empty_array};
use arrow::compute::concat;
use arrow::datatypes::DataType;
use futures::TryStreamExt;
use lance::Dataset;
use lance::dataset::scanner::Scanner;
use lance_core::datatypes::{Field, format_field_path};
use lance_table::format::Fragment;

use crate::error::{Error, Result};

/// Whether a column can be cached: plain values that every read returns in the same form. Blobs and JSON, for example,
/// have another form in the files than in answers.
pub fn can_be_cached(field: &Field) -> bool {
    is_own(&field.metadata) && is_plain(&field.data_type()) && !field.is_blob()
}

/// An extension type has a meaning that Lance may know.
fn is_own(metadata: &HashMap<String, String>) -> bool {
    !metadata.contains_key("ARROW:extension:name")
}

fn is_plain(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => true,
        DataType::FixedSizeList(item, _) => item.data_type().is_primitive(),
        DataType::List(item) => is_own(item.metadata()) && is_plain(item.data_type()),
        DataType::Boolean => true,
        other => other.is_primitive(),
    }
}

/// The bytes that a column takes in memory, when its type says so.
pub fn width(data_type: &DataType) -> Option<usize> {
    match data_type {
        DataType::FixedSizeList(item, length) => {
            Some(item.data_type().primitive_width()? * usize::try_from(*length).ok()?)
        }
        other => other.primitive_width(),
    }
}

/// Names the files that a fragment's columns are read from: equal names have equal rows.
pub fn identity(fragment: &Fragment) -> String {
    use std::fmt::Write;
    let mut name = fragment.id.to_string();
    for file in &fragment.files {
        let _ = write!(name, " {}", file.path);
    }
    name
}

/// Bytes that the values of one array can have: an array of [`has_small_offsets`] counts them with 31 bits.
pub const MOST_IN_ONE_ARRAY: usize = i32::MAX as usize;

/// What was read of a column in a fragment.
pub enum Read {
    Values(ArrayRef),
    /// `take` had no room for them. No more were read than that shows.
    NoRoom,
    /// They do not fit one array, however much room there is.
    TooLong,
}

/// All values of a column in a fragment, those of deleted rows too. `take` takes room for so many more
/// bytes before they are held; `most_in_one_array`: [`MOST_IN_ONE_ARRAY`].
pub async fn read(
    dataset: &Arc<Dataset>,
    field: &Field,
    fragment: &Fragment,
    most_in_one_array: usize,
    mut take: impl FnMut(usize) -> bool,
) -> Result<Read> {
    let most = match has_small_offsets(&field.data_type()) {
        true => most_in_one_array,
        false => usize::MAX,
    };
    let mut columns: Vec<ArrayRef> = Vec::new();
    let mut bytes = 0;
    let mut scanner = scan(dataset, field, fragment)?;
    scanner.batch_size(rows_at_once(dataset, field, fragment).await?);
    let mut batches = scanner.try_into_stream().await?;
    while let Some(batch) = batches.try_next().await? {
        let Some(column) = batch.column_by_name(&field.name) else {
            continue;
        };
        let more = column.to_data().get_slice_memory_size()?;
        bytes += more;
        if bytes > most {
            return Ok(Read::TooLong);
        }
        if !take(more) {
            return Ok(Read::NoRoom);
        }
        columns.push(column.clone());
    }
    let columns: Vec<&dyn Array> = columns.iter().map(AsRef::as_ref).collect();
    let values = match columns.is_empty() {
        true => new_empty_array(&field.data_type()),
        false => concat(&columns)?,
    };
    if fragment.physical_rows != Some(values.len()) {
        return Err(Error::invalid(
            "a fragment was read with another number of rows",
        ));
    }
    Ok(Read::Values(values))
}

/// Whether an array of the type counts the bytes or elements of its values with 31 bits.
fn has_small_offsets(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::Binary | DataType::List(_) => true,
        DataType::LargeList(item) => has_small_offsets(item.data_type()),
        _ => false,
    }
}

fn scan(dataset: &Arc<Dataset>, field: &Field, fragment: &Fragment) -> Result<Scanner> {
    let path = format_field_path(&[field.name.as_str()]);
    let mut scanner = dataset.scan();
    scanner
        .with_fragments(vec![fragment.clone()])
        .project(&[path])?
        .with_row_id()
        .include_deleted_rows()
        .scan_in_order(true)
        .batch_readahead(2)
        .io_buffer_size(32 << 20);
    Ok(scanner)
}

/// Rows of a batch, judged by the first ones where the type does not tell how long values are: what files
/// hold is packed, so that their size says little.
async fn rows_at_once(dataset: &Arc<Dataset>, field: &Field, fragment: &Fragment) -> Result<usize> {
    const MOST: usize = 8_192;
    const FIRST: usize = 16;
    const BYTES: usize = 8 << 20;
    if width(&field.data_type()).is_some() {
        return Ok(MOST);
    }
    let mut scanner = scan(dataset, field, fragment)?;
    scanner.batch_size(FIRST);
    let Some(first) = scanner.try_into_stream().await?.try_next().await? else {
        return Ok(MOST);
    };
    let sizes = first
        .columns()
        .iter()
        .map(|column| column.to_data().get_slice_memory_size());
    let size: usize = sizes.sum::<std::result::Result<_, _>>()?;
    let each = size.div_ceil(first.num_rows().max(1));
    // Longer ones may follow.
    Ok((BYTES / each.max(1)).clamp(1, MOST / 8))
}
