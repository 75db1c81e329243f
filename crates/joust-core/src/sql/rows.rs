//! The rows of a statement without an encoding.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};

use crate::deadline::Deadline;
use crate::error::Result;
use crate::memory::Reservation;

/// A statement that runs.
pub(super) struct Started {
    pub schema: SchemaRef,
    pub batches: BoxStream<'static, Result<RecordBatch>>,
    pub memory: Reservation,
}

/// The rows of a statement that runs, one batch ahead of their reader. Dropping them cancels the work.
pub struct Rows {
    started: Started,
    /// The first batch, until it is read.
    first: Option<RecordBatch>,
    deadline: Deadline,
}

impl Rows {
    /// Waits for the first batch: an error before it is the answer to the statement.
    pub(super) async fn start(mut started: Started, mut deadline: Deadline) -> Result<Self> {
        // A reader asks again after an empty result.
        started.batches = started.batches.fuse().boxed();
        let first = deadline.spend(started.batches.try_next()).await?;
        Ok(Self {
            started,
            first,
            deadline,
        })
    }

    pub fn schema(&self) -> &SchemaRef {
        &self.started.schema
    }

    /// Bytes that the rows may hold.
    pub fn held(&self) -> usize {
        self.started.memory.bytes()
    }

    /// The next batch; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        let batches = &mut self.started.batches;
        self.deadline.spend(batches.try_next()).await
    }
}

/// The columns of a statement's result: none if they are not known.
#[derive(Debug, Clone)]
pub struct Description {
    pub schema: SchemaRef,
    /// The types of the parameters, if their values are not known: `None` where the statement does not determine one.
    pub parameters: Vec<Option<DataType>>,
}

impl Description {
    /// For a query whose columns depend on values that are not known.
    pub(super) fn unknown(parameters: usize) -> Self {
        Self {
            schema: Arc::new(Schema::empty()),
            parameters: vec![None; parameters],
        }
    }
}
