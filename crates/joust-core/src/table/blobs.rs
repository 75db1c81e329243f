//! Large values, read by row: plain binary columns and Lance's blob columns alike.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, LargeBinaryBuilder, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use lance::Dataset;
use lance::dataset::{BlobFile, ProjectionRequest};
use lance_core::datatypes::BlobKind;

use super::{ReadOptions, Table};
use crate::error::{Code, Error, Result};
use crate::ipc::{Encoder, Format};
use crate::query::{canonical_column, unknown_column};

/// Rows of one request for whole values.
const MAX_ROWS: usize = 1_024;
/// Bytes of the values of one answer.
const MAX_TOTAL: u64 = 128 << 20;
/// Bytes of a value that is asked for alone.
const MAX_SINGLE: u64 = 1 << 30;
/// Values that are read at the same time.
const CONCURRENCY: usize = 8;

/// Which row a value is in.
#[derive(Debug, Clone, Copy)]
pub enum Row {
    Id(u64),
    /// Fragment and offset, as `_rowaddr` has them.
    Address(u64),
}

/// One value, to be read in ranges.
pub struct Blob {
    version: u64,
    value: Option<Value>,
}

enum Value {
    /// Of a plain binary column.
    Whole(Bytes),
    File(BlobFile),
}

impl Blob {
    /// The version of the table it was found in.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Bytes; `None` for null.
    pub fn size(&self) -> Option<u64> {
        self.value.as_ref().map(Value::size)
    }

    /// Bytes of a range that lies within the value.
    pub async fn read(&self, range: Range<u64>) -> Result<Bytes> {
        match &self.value {
            Some(value) if range.start <= range.end && range.end <= value.size() => {
                value.read(range).await
            }
            _ => Err(Error::invalid("the range is not within the value")),
        }
    }
}

impl Value {
    fn size(&self) -> u64 {
        match self {
            Self::Whole(bytes) => bytes.len() as u64,
            Self::File(file) => file.size(),
        }
    }

    async fn read(&self, range: Range<u64>) -> Result<Bytes> {
        match self {
            Self::Whole(bytes) => Ok(bytes.slice(range.start as usize..range.end as usize)),
            Self::File(_) if range.is_empty() => Ok(Bytes::new()),
            Self::File(file) => Ok(file.read_range(range).await?),
        }
    }
}

impl Table {
    /// The values of one column in the rows with these ids, in their order: an Arrow IPC stream of one
    /// `large_binary` column, called as it was asked for. Nulls stay nulls.
    pub async fn fetch_blobs(
        &self,
        column: &str,
        row_ids: &[u64],
        options: ReadOptions,
    ) -> Result<(u64, Vec<u8>)> {
        if row_ids.len() > MAX_ROWS {
            return Err(Error::invalid(format!(
                "`row_ids` has {} entries; give at most {MAX_ROWS}",
                row_ids.len()
            )));
        }
        let dataset = self.dataset(options).await?;
        let values = values(&dataset, column, Rows::Ids(row_ids)).await?;
        let total: u64 = values.iter().flatten().map(Value::size).sum();
        let most = match row_ids.len() {
            0 | 1 => MAX_SINGLE,
            _ => MAX_TOTAL,
        };
        if total > most {
            // Clients look for these words, and ask for half as many rows.
            return Err(Error::invalid(format!(
                "fetch_blobs accepts at most {most} total blob bytes, and these rows have {total}; \
                 ask for fewer rows"
            )));
        }
        let bytes: Vec<Option<Bytes>> = stream::iter(values)
            .map(|value| async move {
                match value {
                    Some(value) => value.read(0..value.size()).await.map(Some),
                    None => Ok(None),
                }
            })
            .buffered(CONCURRENCY)
            .try_collect()
            .await?;
        let mut built = LargeBinaryBuilder::with_capacity(bytes.len(), total as usize);
        for value in &bytes {
            built.append_option(value.as_ref());
        }
        let schema = Arc::new(Schema::new(vec![Field::new(
            column,
            DataType::LargeBinary,
            true,
        )]));
        let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(built.finish())])?;
        let mut encoder = Encoder::new(Format::Stream, &schema)?;
        encoder.write(&batch)?;
        encoder.finish()?;
        Ok((dataset.version_id(), encoder.take()))
    }

    /// One value.
    pub async fn blob(&self, column: &str, row: Row, options: ReadOptions) -> Result<Blob> {
        let dataset = self.dataset(options).await?;
        let row = match row {
            Row::Id(id) => values(&dataset, column, Rows::Ids(&[id])).await,
            Row::Address(address) => values(&dataset, column, Rows::Addresses(&[address])).await,
        };
        Ok(Blob {
            version: dataset.version_id(),
            value: row?.pop().flatten(),
        })
    }
}

#[derive(Clone, Copy)]
enum Rows<'a> {
    Ids(&'a [u64]),
    Addresses(&'a [u64]),
}

impl Rows<'_> {
    fn count(self) -> usize {
        match self {
            Self::Ids(rows) | Self::Addresses(rows) => rows.len(),
        }
    }
}

async fn values(
    dataset: &Arc<Dataset>,
    column: &str,
    rows: Rows<'_>,
) -> Result<Vec<Option<Value>>> {
    let path = canonical_column(dataset, column)?;
    let field = dataset
        .schema()
        .field(&path)
        .ok_or_else(|| unknown_column(dataset, column))?;
    if rows.count() == 0 {
        return Ok(Vec::new());
    }
    if field.is_blob() {
        return blobs(dataset, &path, rows).await;
    }
    match field.data_type() {
        DataType::Binary | DataType::LargeBinary => plain(dataset, column, &path, rows).await,
        other => Err(Error::invalid(format!(
            "column `{column}` is of type {other}; only binary columns and blob columns can be read \
             so"
        ))),
    }
}

async fn blobs(dataset: &Arc<Dataset>, path: &str, rows: Rows<'_>) -> Result<Vec<Option<Value>>> {
    let files = match rows {
        Rows::Ids(ids) => dataset.take_blobs(ids, path).await,
        Rows::Addresses(addresses) => dataset.take_blobs_by_addresses(addresses, path).await,
    };
    let files = files.map_err(Error::of_input)?;
    if files.len() != rows.count() {
        return Err(missing_rows());
    }
    let external = |file: &BlobFile| file.kind() == BlobKind::External;
    if files.iter().flatten().any(external) {
        return Err(Error::new(
            Code::Unsupported,
            "the value lies outside the table; this server reads only what tables hold",
        ));
    }
    Ok(files
        .into_iter()
        .map(|file| file.map(Value::File))
        .collect())
}

async fn plain(
    dataset: &Arc<Dataset>,
    column: &str,
    path: &str,
    rows: Rows<'_>,
) -> Result<Vec<Option<Value>>> {
    let batch = match rows {
        Rows::Ids(ids) => {
            let projection = ProjectionRequest::from_sql([(column, path)]);
            dataset.take_rows(ids, projection).await
        }
        Rows::Addresses(_) => {
            return Err(Error::invalid(format!(
                "column `{column}` is no blob column; its rows are named by their ids"
            )));
        }
    };
    let batch = batch.map_err(Error::of_input)?;
    if batch.num_rows() != rows.count() {
        return Err(missing_rows());
    }
    let values: ArrayRef = cast(batch.column(0), &DataType::LargeBinary)?;
    let values = values.as_binary::<i64>();
    Ok((0..values.len())
        .map(|row| values.is_valid(row).then(|| values.value(row)))
        .map(|value| value.map(|value| Value::Whole(Bytes::copy_from_slice(value))))
        .collect())
}

fn missing_rows() -> Error {
    Error::invalid("some of the rows do not exist; row ids are what queries give as _rowid")
}
