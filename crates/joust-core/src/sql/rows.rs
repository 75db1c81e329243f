//! The rows of a statement without an encoding.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use futures::TryStreamExt;
use futures::stream::BoxStream;

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
    deadline: Deadline,
}

impl Rows {
    pub(super) fn new(started: Started, deadline: Deadline) -> Self {
        Self { started, deadline }
    }

    pub fn schema(&self) -> &SchemaRef {
        &self.started.schema
    }

    /// Bytes that the rows may hold.
    pub fn held(&self) -> usize {
        self.started.memory.bytes()
    }

    /// Whether the time that the request allows is over: then `next` has failed.
    pub fn is_overdue(&self) -> bool {
        self.deadline.is_overdue()
    }

    /// The next batch; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>> {
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
