//! Receives batches while previous ones are written.

use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use futures::StreamExt;

use super::BatchStream;
use super::own_size::own_size;

/// Batches that wait for the writer. Their memory is part of the upload's reservation.
const AHEAD: usize = 2;

/// The same batches, prepared by a separate task. Dropping the stream ends the task.
pub fn ahead(mut batches: BatchStream) -> BatchStream {
    let mut stream = RecordBatchReceiverStream::builder(batches.schema(), AHEAD);
    let sender = stream.tx();
    stream.spawn(async move {
        while let Some(batch) = batches.next().await {
            let batch = batch.and_then(|batch| Ok(own_size(&batch)?));
            // The writer is dropped; it reports the reason.
            if sender.send(batch).await.is_err() {
                break;
            }
        }
        Ok(())
    });
    stream.build()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int32Array, RecordBatch};
    use datafusion::error::DataFusionError;
    use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
    use futures::stream;

    use super::*;

    #[tokio::test]
    async fn all_batches_come_in_order_and_so_does_an_error() {
        let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..9));
        let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
        let parts: Vec<_> = (0..9).map(|row| Ok(batch.slice(row, 1))).collect();
        let failure = Err(DataFusionError::Execution("cut off".into()));
        let all = stream::iter(parts.into_iter().chain([failure]));
        let all = ahead(Box::pin(RecordBatchStreamAdapter::new(batch.schema(), all)));
        let seen: Vec<_> = all.collect().await;
        let rows: Vec<_> = seen.iter().flatten().cloned().collect();
        assert_eq!(
            arrow::compute::concat_batches(&batch.schema(), &rows).unwrap(),
            batch
        );
        assert!(seen.last().unwrap().is_err());
    }
}
