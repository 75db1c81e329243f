//! Reads large values by row: plain binary columns and Lance's blob columns.

mod lookup;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow::array::{LargeBinaryBuilder, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use lance::Dataset;
use lance::dataset::BlobFile;

use self::lookup::{Rows, values};
use super::{ReadOptions, Table};
use crate::deadline::Deadline;
use crate::error::{Error, Result};
use crate::ipc::{Encode, Encoder, Format};
use crate::schema::RowFilter;

/// The most rows of one request for whole values.
const MAX_ROWS: usize = 1_024;
/// The most bytes of values in one answer.
const MAX_TOTAL: u64 = 128 << 20;
/// Initial and smallest number of rows of a plain column per lookup: their values are read before the sizes are known,
/// and large ones may follow small ones.
const FIRST_ROWS: usize = 4;
const MOST_ROWS: usize = 16;
/// Target size of the values of one lookup, bytes.
const CHUNK_BYTES: u64 = 16 << 20;
/// Values that are read concurrently.
const CONCURRENCY: usize = 8;

/// The row of a value.
#[derive(Debug, Clone, Copy)]
pub enum Row {
    Id(u64),
    /// Fragment and offset, as in `_rowaddr`.
    Address(u64),
}

/// One value, for reads of ranges.
pub struct Blob {
    /// The version with the value, which is pinned as long as this exists.
    dataset: Arc<Dataset>,
    value: Option<Value>,
    /// Of the request; --query-timeout would end the reads of a large value.
    deadline: Mutex<Deadline>,
}

enum Value {
    /// Of a plain binary column.
    Whole(Bytes),
    File(BlobFile),
}

impl Blob {
    /// The version of the table that holds the value.
    pub fn version(&self) -> u64 {
        self.dataset.version_id()
    }

    /// Bytes; `None` for null.
    pub fn size(&self) -> Option<u64> {
        self.value.as_ref().map(Value::size)
    }

    /// Bytes of a range that lies within the value. One read at a time: they share the time of the request.
    pub async fn read(&self, range: Range<u64>) -> Result<Bytes> {
        match &self.value {
            Some(value) if range.start <= range.end && range.end <= value.size() => {
                let lock = || self.deadline.lock().unwrap_or_else(PoisonError::into_inner);
                let mut deadline = *lock();
                let read = deadline.spend(value.read(range)).await;
                *lock() = deadline;
                read
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

    fn is_file(&self) -> bool {
        matches!(self, Self::File(_))
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
    /// The values of one column in the rows with these ids, in their order: an Arrow IPC stream of one `large_binary`
    /// column with the requested name. Nulls stay nulls.
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
        let named = Named::new(row_ids);
        let values = limited(&dataset, column, &named, self.rows()).await?;
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
        let total = named
            .places
            .iter()
            .filter_map(|&place| bytes[place].as_ref());
        let total: usize = total.map(Bytes::len).sum();
        let mut built = LargeBinaryBuilder::with_capacity(named.places.len(), total);
        for &place in &named.places {
            built.append_option(bytes[place].as_ref());
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
    ///
    /// `timeout`: the time that the request has left, for this call and the reads of the value together.
    pub async fn blob(
        &self,
        column: &str,
        row: Row,
        options: ReadOptions,
        timeout: Option<Duration>,
    ) -> Result<Blob> {
        let mut deadline = Deadline::of_request(timeout);
        let (value, dataset) = deadline.spend(self.value(column, row, options)).await?;
        Ok(Blob {
            value,
            dataset,
            deadline: Mutex::new(deadline),
        })
    }

    async fn value(
        &self,
        column: &str,
        row: Row,
        options: ReadOptions,
    ) -> Result<(Option<Value>, Arc<Dataset>)> {
        let dataset = self.dataset(options).await?;
        let row = match row {
            Row::Id(id) => values(&dataset, column, Rows::Ids(&[id]), self.rows()).await,
            Row::Address(address) => {
                values(&dataset, column, Rows::Addresses(&[address]), self.rows()).await
            }
        };
        Ok((row?.pop().flatten(), dataset))
    }
}

/// The rows of a request, without duplicates.
struct Named {
    /// In the order of their first occurrence.
    ids: Vec<u64>,
    /// The number of occurrences of each.
    times: Vec<u64>,
    /// For each occurrence its index in `ids`.
    places: Vec<usize>,
}

impl Named {
    fn new(row_ids: &[u64]) -> Self {
        let mut known = HashMap::new();
        let mut ids = Vec::new();
        let mut times: Vec<u64> = Vec::new();
        let mut places = Vec::with_capacity(row_ids.len());
        for &id in row_ids {
            let place = *known.entry(id).or_insert(ids.len());
            if place == ids.len() {
                ids.push(id);
                times.push(0);
            }
            times[place] += 1;
            places.push(place);
        }
        Self { ids, times, places }
    }
}

/// The values of the rows, looked up in chunks: an answer that becomes too large is rejected before all of it is in
/// memory.
async fn limited(
    dataset: &Arc<Dataset>,
    column: &str,
    named: &Named,
    filter: Option<&RowFilter>,
) -> Result<Vec<Option<Value>>> {
    let mut found: Vec<Option<Value>> = Vec::with_capacity(named.ids.len());
    let (mut read, mut total) = (0_u64, 0_u64);
    loop {
        let begin = found.len();
        let rows = match found.iter().flatten().any(Value::is_file) {
            // Their sizes are known before they are read.
            true => MAX_ROWS,
            false => next_rows(begin, read),
        };
        let end = named.ids.len().min(begin + rows);
        // Runs without rows, too, so that an invalid column is reported.
        let chunk = values(dataset, column, Rows::Ids(&named.ids[begin..end]), filter).await?;
        for (value, times) in chunk.iter().zip(&named.times[begin..end]) {
            let size: u64 = value.as_ref().map_or(0, Value::size);
            read += size;
            total += size.saturating_mul(*times);
            if total > MAX_TOTAL {
                return Err(too_big(named.places.len()));
            }
        }
        found.extend(chunk);
        if end == named.ids.len() {
            return Ok(found);
        }
    }
}

/// The number of rows for the next lookup after `rows` rows with `bytes` of values.
fn next_rows(rows: usize, bytes: u64) -> usize {
    if rows == 0 {
        return FIRST_ROWS;
    }
    let average = (bytes / rows as u64).max(1);
    (CHUNK_BYTES / average).clamp(1, MOST_ROWS as u64) as usize
}

/// Clients match this wording, and then request half as many rows.
fn too_big(rows: usize) -> Error {
    Error::invalid(match rows {
        1 => format!(
            "fetch_blobs accepts at most {MAX_TOTAL} total blob bytes, and this value has more; \
             read it in ranges, from /v1/table/{{id}}/blob/{{column}}/{{row}}/bytes"
        ),
        _ => format!(
            "fetch_blobs accepts at most {MAX_TOTAL} total blob bytes, and these rows have more; \
             ask for fewer rows"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_is_named_often_is_looked_up_once() {
        let named = Named::new(&[7, 3, 7, 7, 1]);
        assert_eq!(named.ids, [7, 3, 1]);
        assert_eq!(named.times, [3, 1, 1]);
        assert_eq!(named.places, [0, 1, 0, 0, 2]);
    }

    #[test]
    fn the_larger_the_values_the_fewer_are_looked_up_together() {
        assert_eq!(next_rows(0, 0), FIRST_ROWS);
        assert_eq!(next_rows(16, 0), MOST_ROWS);
        assert_eq!(next_rows(16, 64 << 20), 4);
        assert_eq!(next_rows(1, 1 << 30), 1);
    }
}
