//! Batches without rows while a statement works. LanceDB's SDK abandons a statement that sends no batch for 300 s, and
//! proxies close streams that are silent for a minute.

use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow_flight::FlightData;
use arrow_flight::utils::batches_to_flight_data;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use tokio::time::timeout;
use tonic::Status;

use crate::status::internal;

type Messages = BoxStream<'static, Result<FlightData, Status>>;

/// The messages, and after each silence of `every` a batch of the schema without rows. The first message is the schema.
pub fn with_heartbeats(every: Duration, schema: SchemaRef, messages: Messages) -> Messages {
    stream::unfold(
        (messages, schema),
        move |(mut messages, schema)| async move {
            let next = match timeout(every, messages.next()).await {
                Ok(next) => next?,
                Err(_) => heartbeat(&schema),
            };
            Some((next, (messages, schema)))
        },
    )
    .boxed()
}

/// `FlightDataEncoder` sends nothing for a batch without rows.
fn heartbeat(schema: &SchemaRef) -> Result<FlightData, Status> {
    let none = RecordBatch::new_empty(schema.clone());
    let encoded = batches_to_flight_data(schema, vec![none]).map_err(internal)?;
    let last = encoded.into_iter().next_back();
    last.ok_or_else(|| internal("an empty batch has no message"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array};
    use arrow_flight::decode::FlightRecordBatchStream;
    use arrow_flight::encode::FlightDataEncoderBuilder;
    use arrow_flight::error::FlightError;
    use futures::TryStreamExt;
    use tokio::time::sleep;

    use super::*;

    fn one() -> RecordBatch {
        let one: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        RecordBatch::try_from_iter([("one", one)]).unwrap()
    }

    /// The number of rows of each batch, -1 for an error.
    async fn sizes(batches: BoxStream<'static, Result<RecordBatch, Status>>) -> Vec<i64> {
        let schema = one().schema();
        let messages = FlightDataEncoderBuilder::new()
            .with_schema(schema.clone())
            .build(batches.map_err(FlightError::from))
            .map_err(Status::from);
        let every = Duration::from_millis(100);
        let messages = with_heartbeats(every, schema, messages.boxed());
        let batches =
            FlightRecordBatchStream::new_from_flight_data(messages.map_err(FlightError::from));
        batches
            .map(|batch| batch.map_or(-1, |batch| batch.num_rows() as i64))
            .collect()
            .await
    }

    #[tokio::test]
    async fn a_silent_stream_sends_empty_batches() {
        let slow = stream::once(async {
            sleep(Duration::from_millis(250)).await;
            Ok(one())
        });
        assert_eq!(sizes(slow.boxed()).await, [0, 0, 1]);
    }

    #[tokio::test]
    async fn a_fast_stream_is_unchanged() {
        assert_eq!(
            sizes(stream::iter([Ok(one()), Ok(one())]).boxed()).await,
            [1, 1]
        );
        assert_eq!(sizes(stream::empty().boxed()).await, [0_i64; 0]);
    }

    #[tokio::test]
    async fn an_error_passes() {
        let failing = stream::once(async { Err(Status::internal("x")) });
        assert_eq!(sizes(failing.boxed()).await, [-1]);
    }
}
