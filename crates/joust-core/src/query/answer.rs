//! Runs a scan and encodes its result in chunks.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{AsArray, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::Int32Type;
use futures::StreamExt;
use futures::stream::BoxStream;
use lance::Dataset;
use lance::dataset::ROW_ID;
use lance::dataset::scanner::DatasetRecordBatchStream;
use lance::io::RecordBatchStream;

use super::fetch::Rows;
use super::output::QUERY_INDEX;
use super::request::Query;
use super::vectors::Vectors;
use crate::deadline::Deadline;
use crate::error::{Error, Result};
use crate::ipc::{Encode, Encoder, Format};
use crate::memory::Reservation;

/// A result up to this size is one chunk.
pub(crate) const FIRST_PART: usize = 4 << 20;
/// Minimum size of later chunks.
const NEXT_PART: usize = 1 << 20;

/// The result of a query: Arrow IPC in chunks. Dropping it cancels the work.
pub struct Answer {
    /// The version that is read, which is pinned as long as this exists; absent for a statement, whose plan pins its
    /// versions.
    dataset: Option<Arc<Dataset>>,
    /// The reservation for its memory.
    memory: Reservation,
    batches: BoxStream<'static, Result<RecordBatch>>,
    encoder: Box<dyn Encode>,
    skip: Option<SkipPerQuery>,
    /// The columns to send, if the scan has one more.
    keep: Option<Vec<usize>>,
    done: bool,
    /// For the remaining chunks.
    deadline: Option<Deadline>,
}

impl Answer {
    pub(super) fn start(
        batches: DatasetRecordBatchStream,
        query: &Query,
        dataset: Arc<Dataset>,
        format: Format,
        memory: Reservation,
    ) -> Result<Self> {
        let scanned = batches.schema();
        let batches = batches.map(|batch| batch.map_err(Error::of_input)).boxed();
        let skip = match (&query.vector, query.offset) {
            (Vectors::Many(_), Some(offset)) if offset > 0 => Some(SkipPerQuery::new(offset)),
            _ => None,
        };
        let keep = query.needs_row_id().then(|| {
            let columns = scanned.fields().iter().enumerate();
            columns
                .filter(|(_, field)| field.name() != ROW_ID)
                .map(|(index, _)| index)
                .collect::<Vec<_>>()
        });
        let schema = match &keep {
            Some(keep) => Arc::new(scanned.project(keep)?),
            None => scanned,
        };
        Ok(Self {
            dataset: Some(dataset),
            memory,
            encoder: Box::new(Encoder::new(format, &schema)?),
            batches,
            skip,
            keep,
            done: false,
            deadline: None,
        })
    }

    pub(super) fn of_rows(
        rows: Rows,
        dataset: Arc<Dataset>,
        format: Format,
        memory: Reservation,
    ) -> Result<Self> {
        Ok(Self {
            dataset: Some(dataset),
            memory,
            encoder: Box::new(Encoder::new(format, &rows.schema)?),
            batches: rows.batches,
            skip: None,
            keep: None,
            done: false,
            deadline: None,
        })
    }

    /// The result of a statement, which may have several tables or none.
    pub(crate) fn of_statement(
        batches: BoxStream<'static, Result<RecordBatch>>,
        encoder: Box<dyn Encode>,
        memory: Reservation,
    ) -> Self {
        Self {
            dataset: None,
            memory,
            encoder,
            batches,
            skip: None,
            keep: None,
            done: false,
            deadline: None,
        }
    }

    pub(crate) fn set_deadline(&mut self, deadline: Deadline) {
        self.deadline = Some(deadline);
    }

    /// Bytes that it may hold.
    pub fn held(&self) -> usize {
        self.memory.bytes()
    }

    /// The version of the table that is read; absent for a statement.
    pub fn version(&self) -> Option<u64> {
        self.dataset.as_ref().map(|dataset| dataset.version_id())
    }

    /// The reservation of chunks that were returned and are not sent yet. Call it after the last chunk: `bytes` is the
    /// number of unsent ones.
    pub fn into_memory(self, bytes: usize) -> Reservation {
        let mut memory = self.memory;
        memory.shrink(bytes);
        memory
    }

    /// All chunks have been returned.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// The first chunk: all of a small result.
    pub async fn first(&mut self) -> Result<Vec<u8>> {
        self.fill(FIRST_PART).await
    }

    /// The next chunk; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>> {
        if self.done {
            return Ok(None);
        }
        self.fill(NEXT_PART).await.map(Some)
    }

    async fn fill(&mut self, size: usize) -> Result<Vec<u8>> {
        let Some(mut deadline) = self.deadline.take() else {
            return self.made(size).await;
        };
        let made = deadline.spend(self.made(size)).await;
        self.deadline = Some(deadline);
        made
    }

    async fn made(&mut self, size: usize) -> Result<Vec<u8>> {
        while self.encoder.pending() < size && !self.done {
            match self.batches.next().await {
                Some(batch) => {
                    let mut batch = batch?;
                    if let Some(skip) = &mut self.skip {
                        batch = skip.apply(&batch)?;
                    }
                    if let Some(keep) = &self.keep {
                        batch = batch.project(keep)?;
                    }
                    if batch.num_rows() > 0 {
                        self.encoder.write(&batch)?;
                    }
                }
                None => {
                    self.encoder.finish()?;
                    self.done = true;
                }
            }
        }
        Ok(self.encoder.take())
    }
}

/// Drops the nearest rows of each query vector: the offset applies to every vector separately.
struct SkipPerQuery {
    offset: u64,
    seen: HashMap<i32, u64>,
}

impl SkipPerQuery {
    fn new(offset: u64) -> Self {
        Self {
            offset,
            seen: HashMap::new(),
        }
    }

    fn apply(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let index = batch
            .column_by_name(QUERY_INDEX)
            .and_then(|column| column.as_primitive_opt::<Int32Type>());
        let Some(index) = index else {
            return Ok(batch.clone());
        };
        let keep: BooleanArray = index
            .values()
            .iter()
            .map(|query| {
                let seen = self.seen.entry(*query).or_default();
                *seen += 1;
                Some(*seen > self.offset)
            })
            .collect();
        Ok(filter_record_batch(batch, &keep)?)
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int32Array};

    use super::*;

    #[test]
    fn an_offset_counts_for_every_query_vector() {
        let queries: ArrayRef = Arc::new(Int32Array::from(vec![0, 0, 0, 1, 1]));
        let rows: ArrayRef = Arc::new(Int32Array::from(vec![10, 11, 12, 20, 21]));
        let batch = RecordBatch::try_from_iter([(QUERY_INDEX, queries), ("row", rows)]).unwrap();
        let mut skip = SkipPerQuery::new(1);
        let mut left = Vec::new();
        for part in [batch.slice(0, 2), batch.slice(2, 3)] {
            let part = skip.apply(&part).unwrap();
            left.extend_from_slice(part["row"].as_primitive::<Int32Type>().values());
        }
        assert_eq!(left, [11, 12, 21]);
    }
}
