//! Runs a scan and encodes its result in chunks.

use std::sync::Arc;

use arrow::array::RecordBatch;
use futures::StreamExt;
use futures::stream::BoxStream;
use lance::Dataset;
use lance::dataset::ROW_ID;

use super::fetch::Rows;
use super::request::Query;
use crate::deadline::Deadline;
use crate::error::Result;
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
    /// The columns to send, if the scan has one more.
    keep: Option<Vec<usize>>,
    done: bool,
    /// For the remaining chunks.
    deadline: Option<Deadline>,
}

impl Answer {
    pub(super) fn of_scan(
        scanned: Rows,
        query: &Query,
        dataset: Arc<Dataset>,
        format: Format,
        memory: Reservation,
    ) -> Result<Self> {
        let keep = query.hides_row_id().then(|| {
            let columns = scanned.schema.fields().iter().enumerate();
            columns
                .filter(|(_, field)| field.name() != ROW_ID)
                .map(|(index, _)| index)
                .collect::<Vec<_>>()
        });
        let schema = match &keep {
            Some(keep) => Arc::new(scanned.schema.project(keep)?),
            None => scanned.schema,
        };
        Ok(Self {
            dataset: Some(dataset),
            memory,
            encoder: Box::new(Encoder::new(format, &schema)?),
            batches: scanned.batches,
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
