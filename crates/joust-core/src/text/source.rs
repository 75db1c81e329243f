//! The texts of a column, row by row.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{DataType, UInt64Type};
use futures::{Stream, StreamExt};
use joust_text::segment::Builder;
use lance::Dataset;
use lance::dataset::scanner::DatasetRecordBatchStream;
use lance_datafusion::exec::{LanceExecutionOptions, execute_plan};
use lance_table::format::Fragment;

use super::column::TextColumn;
use crate::error::{Error, Result};
use crate::json::guarded;

/// The name of the column in the batches.
const TEXT: &str = "text";

/// Row ids and texts of some fragments at the version.
pub async fn batches(
    dataset: &Arc<Dataset>,
    column: &TextColumn,
    fragments: Vec<Fragment>,
) -> Result<impl Stream<Item = Result<RecordBatch>> + Send + use<>> {
    let mut scanner = dataset.scan();
    scanner
        .with_fragments(fragments)
        .project_with_transform(&[(TEXT, &column.field)])?
        .with_row_id()
        .io_buffer_size(32 << 20)
        .batch_size_bytes(8 << 20);
    let plan = scanner.create_plan().await?;
    let stored = execute_plan(plan, LanceExecutionOptions::default())?;
    let batches = DatasetRecordBatchStream::new(guarded(stored));
    Ok(batches.map(|batch| batch.map_err(Error::from)))
}

/// Adds the rows of a batch.
pub fn add(builder: &mut Builder, batch: &RecordBatch, column: &TextColumn) -> Result<()> {
    let rows = batch
        .column_by_name("_rowid")
        .and_then(|rows| rows.as_primitive_opt::<UInt64Type>());
    let texts = batch
        .column_by_name(TEXT)
        .map(|values| texts(values, column.keys.as_deref()));
    let (Some(rows), Some(texts)) = (rows, texts) else {
        return Err(Error::invalid("the table's rows have no ids or no text"));
    };
    let texts = texts?;
    for (index, row) in rows.values().iter().enumerate() {
        builder.add(*row, texts.of(index))?;
    }
    Ok(())
}

/// A column of texts, of lists of them, or of JSON.
pub enum Texts {
    Small(arrow::array::StringArray),
    Large(arrow::array::LargeStringArray),
    View(arrow::array::StringViewArray),
    List(ArrayRef, Box<Texts>),
    Json(Vec<Vec<String>>),
}

/// `keys`: the path within JSON.
pub fn texts(column: &ArrayRef, keys: Option<&[String]>) -> Result<Texts> {
    if let Some(keys) = keys {
        return super::json::texts(column, keys).map(Texts::Json);
    }
    Ok(match column.data_type() {
        DataType::Utf8 => Texts::Small(column.as_string::<i32>().clone()),
        DataType::LargeUtf8 => Texts::Large(column.as_string::<i64>().clone()),
        DataType::Utf8View => Texts::View(column.as_string_view().clone()),
        DataType::List(_) => {
            let inner = texts(column.as_list::<i32>().values(), None)?;
            Texts::List(column.clone(), Box::new(inner))
        }
        DataType::LargeList(_) => {
            let inner = texts(column.as_list::<i64>().values(), None)?;
            Texts::List(column.clone(), Box::new(inner))
        }
        other => return Err(Error::invalid(format!("{other} is no text"))),
    })
}

impl Texts {
    /// The texts of a row: none for null.
    pub fn of(&self, index: usize) -> Vec<&str> {
        match self {
            Self::Small(texts) => texts
                .is_valid(index)
                .then(|| texts.value(index))
                .into_iter()
                .collect(),
            Self::Large(texts) => texts
                .is_valid(index)
                .then(|| texts.value(index))
                .into_iter()
                .collect(),
            Self::View(texts) => texts
                .is_valid(index)
                .then(|| texts.value(index))
                .into_iter()
                .collect(),
            Self::List(lists, texts) => {
                if lists.is_null(index) {
                    return Vec::new();
                }
                let (start, end) = match lists.data_type() {
                    DataType::List(_) => {
                        let offsets = lists.as_list::<i32>().value_offsets();
                        (offsets[index] as usize, offsets[index + 1] as usize)
                    }
                    _ => {
                        let offsets = lists.as_list::<i64>().value_offsets();
                        (offsets[index] as usize, offsets[index + 1] as usize)
                    }
                };
                (start..end).flat_map(|index| texts.of(index)).collect()
            }
            Self::Json(rows) => rows
                .get(index)
                .map(|texts| texts.iter().map(String::as_str).collect())
                .unwrap_or_default(),
        }
    }
}
