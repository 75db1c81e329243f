//! The row of parameters in a stream of a client.

use arrow::array::RecordBatch;
use arrow_flight::FlightData;
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::error::FlightError;
use futures::{Stream, TryStreamExt, stream};
use tonic::Status;

use crate::status::invalid;

/// The only row of a stream, which may begin with the message that carried the command. `None` if the stream has no
/// row.
pub async fn read(
    first: FlightData,
    rest: impl Stream<Item = Result<FlightData, Status>> + Send + Unpin + 'static,
) -> Result<Option<RecordBatch>, Status> {
    let has_schema = !first.data_header.is_empty();
    let first = stream::iter(has_schema.then_some(Ok(first)));
    let messages = futures::StreamExt::chain(first, rest).map_err(FlightError::from);
    let mut batches = FlightRecordBatchStream::new_from_flight_data(messages);
    let mut row: Option<RecordBatch> = None;
    while let Some(batch) = batches.try_next().await.map_err(of_client)? {
        let rows = batch.num_rows() + row.as_ref().map_or(0, RecordBatch::num_rows);
        if rows > 1 {
            return Err(invalid(
                "the parameters have more than one row; bind one row for each execution",
            ));
        }
        if batch.num_rows() == 1 {
            row = Some(batch);
        }
    }
    Ok(row)
}

/// A stream that cannot be decoded is the client's error.
fn of_client(error: FlightError) -> Status {
    match error {
        FlightError::Tonic(status) => *status,
        other => invalid(format!("the parameters cannot be decoded: {other}")),
    }
}
