//! The rows of a statement without an encoding.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use futures::stream::BoxStream;
use futures::{StreamExt, future};

use super::thread::Computed;
use crate::deadline::Deadline;
use crate::error::Result;
use crate::ipc::Encode;
use crate::memory::Reservation;
use crate::query::Answer;

/// A statement that runs.
pub(super) struct Started {
    pub schema: SchemaRef,
    pub batches: BoxStream<'static, Computed>,
    pub memory: Reservation,
}

impl Started {
    /// Its rows in an encoding. Something polls an answer at all times, so it takes each batch when it is ready.
    pub fn into_answer(self, encoder: Box<dyn Encode>) -> Answer {
        let batches = self
            .batches
            .filter_map(|computed| future::ready(computed.batch));
        Answer::of_statement(batches.boxed(), encoder, self.memory)
    }
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

    /// The next batch; `None` at the end. If nothing polls it any more when the batch is ready, because the client does
    /// not read, this time does not count for the deadline.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>> {
        let batches = &mut self.started.batches;
        let work = async {
            let computed = batches.next().await;
            let Computed { ready, batch } = computed.unwrap_or_else(|| Computed::now(None));
            (ready, batch.transpose())
        };
        self.deadline.spend_until_ready(work).await
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

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::time::Duration;

    use arrow::array::{ArrayRef, Int64Array};
    use futures::{FutureExt, stream};
    use tokio::sync::mpsc::unbounded_channel;
    use tokio::time::sleep;

    use super::super::thread::{ReaderDropped, on_own_thread};
    use super::*;
    use crate::error::Code;
    use crate::memory::{Budget, Memory, Use};

    fn batch() -> RecordBatch {
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values([1, 2]));
        RecordBatch::try_from_iter([("id", ids)]).unwrap()
    }

    #[tokio::test]
    async fn time_in_which_the_client_does_not_read_is_not_spent() {
        const LIMIT: Duration = Duration::from_millis(200);
        let (sender, receiver) = unbounded_channel::<Result<RecordBatch>>();
        let computed = stream::unfold(receiver, |mut receiver| async move {
            let batch = receiver.recv().await?;
            Some((batch, receiver))
        });
        let memory = Memory::new(Budget::new(1 << 30, None, None, None));
        let held = memory.take(Use::Query, 1).await.unwrap();
        let batches = on_own_thread(computed.boxed(), held, ReaderDropped::default());
        let started = Started {
            schema: batch().schema(),
            batches: batches.await.unwrap(),
            memory: memory.take(Use::Query, 1).await.unwrap(),
        };
        let mut rows = Rows::new(started, Deadline::of_request(Some(LIMIT)));
        {
            let mut next = pin!(rows.next());
            assert!(next.as_mut().now_or_never().is_none());
            sender.send(Ok(batch())).unwrap();
            // Nothing polls while the client does not read.
            sleep(LIMIT + Duration::from_millis(300)).await;
            assert_eq!(next.await.unwrap(), Some(batch()));
        }
        let (next, ()) = tokio::join!(rows.next(), async {
            sleep(Duration::from_millis(20)).await;
            sender.send(Ok(batch())).unwrap();
        });
        assert_eq!(next.unwrap(), Some(batch()));
        // Work counts.
        let error = rows.next().await.unwrap_err();
        assert_eq!(error.code(), Code::ServiceUnavailable);
        assert!(rows.is_overdue());
    }

    #[tokio::test]
    async fn rows_end_once() {
        let memory = Memory::new(Budget::new(1 << 30, None, None, None));
        let started = Started {
            schema: batch().schema(),
            batches: super::super::run::one(batch()),
            memory: memory.take(Use::Query, 1).await.unwrap(),
        };
        let mut rows = Rows::new(started, Deadline::of_request(None));
        assert_eq!(rows.next().await.unwrap(), Some(batch()));
        assert_eq!(rows.next().await.unwrap(), None);
    }
}
