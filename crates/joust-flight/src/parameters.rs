//! The rows of parameters in a stream of a client.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow::array::{Array, RecordBatch};
use arrow::compute::concat_batches;
use arrow_flight::FlightData;
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::error::FlightError;
use futures::{Stream, TryStreamExt, stream};
use tokio::time::timeout;
use tonic::Status;

use crate::checked::checked;
use crate::status::{internal, invalid};

/// Rows of one stream.
const MOST_ROWS: usize = 100_000;
/// Bytes of the rows of one stream.
const MOST_BYTES: usize = 16 << 20;
/// Bytes of the rows of all streams of a caller: one caller leaves room for others.
const MOST_BYTES_OF_CALLER: usize = 32 << 20;
/// Bytes of the rows of all streams.
const MOST_BYTES_OF_ALL: usize = 128 << 20;

/// A client may send nothing for this long.
const IDLE: Duration = Duration::from_secs(60);

/// The rows of all streams that the server holds, in bytes by caller.
#[derive(Default)]
pub struct Budget(Arc<Mutex<HashMap<String, usize>>>);

/// The rows of a stream, which has columns. There may be none.
pub struct Rows {
    pub batch: RecordBatch,
    _held: Held,
}

/// The only row of a query's parameters, if there is one.
pub fn one_row(rows: RecordBatch) -> Result<Option<RecordBatch>, Status> {
    match rows.num_rows() {
        0 => Ok(None),
        1 => Ok(Some(rows)),
        _ => Err(invalid(
            "the parameters of a query have more than one row; bind one row for each execution",
        )),
    }
}

/// A part of the budget.
struct Held {
    budget: Arc<Mutex<HashMap<String, usize>>>,
    caller: String,
    bytes: usize,
}

impl Held {
    fn add(&mut self, bytes: usize) -> Result<(), Status> {
        if self.bytes + bytes > MOST_BYTES {
            return Err(invalid(format!(
                "the parameters have more than {} MiB; send fewer rows at once",
                MOST_BYTES >> 20
            )));
        }
        let mut held = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        let of_all: usize = held.values().sum();
        let of_caller = held.get(&self.caller).copied().unwrap_or_default();
        if of_caller + bytes > MOST_BYTES_OF_CALLER || of_all + bytes > MOST_BYTES_OF_ALL {
            return Err(Status::resource_exhausted(
                "the server holds too many rows of parameters; try again later",
            ));
        }
        held.insert(self.caller.clone(), of_caller + bytes);
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut held = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        let left = held.get(&self.caller).copied().unwrap_or_default();
        match left.saturating_sub(self.bytes) {
            0 => held.remove(&self.caller),
            left => held.insert(self.caller.clone(), left),
        };
    }
}

impl Budget {
    /// The rows of a stream, which may begin with the message that carried the command. `None` if the stream has no
    /// columns.
    pub async fn read(
        &self,
        caller: &str,
        first: FlightData,
        rest: impl Stream<Item = Result<FlightData, Status>> + Send + Unpin + 'static,
    ) -> Result<Option<Rows>, Status> {
        let mut held = Held {
            budget: self.0.clone(),
            caller: caller.to_string(),
            bytes: 0,
        };
        let has_schema = !first.data_header.is_empty();
        let first = stream::iter(has_schema.then_some(Ok(first)));
        let messages = futures::StreamExt::chain(first, rest)
            .and_then(async |message| checked(message))
            .map_err(FlightError::from);
        let messages = Box::pin(messages);
        let mut batches = FlightRecordBatchStream::new_from_flight_data(messages);
        let mut rows = Vec::new();
        let mut count = 0;
        while let Some(batch) = next(&mut batches).await? {
            count += batch.num_rows();
            if count > MOST_ROWS {
                return Err(invalid(format!(
                    "the parameters have more than {MOST_ROWS} rows; send fewer at once"
                )));
            }
            held.add(bytes(&batch)?)?;
            if batch.num_rows() > 0 {
                rows.push(batch);
            }
        }
        let schema = batches.schema().cloned();
        let Some(schema) = schema.filter(|schema| !schema.fields().is_empty()) else {
            return Ok(None);
        };
        let batch = match rows.as_slice() {
            [batch] => batch.clone(),
            many => concat_batches(&schema, many).map_err(internal)?,
        };
        Ok(Some(Rows { batch, _held: held }))
    }
}

/// The next batch. A client that sends none does not hold its part of the budget for long.
async fn next(batches: &mut FlightRecordBatchStream) -> Result<Option<RecordBatch>, Status> {
    match timeout(IDLE, batches.try_next()).await {
        Ok(batch) => batch.map_err(of_client),
        Err(_) => Err(Status::deadline_exceeded(format!(
            "the client has sent no parameters for {} s; send them at once",
            IDLE.as_secs()
        ))),
    }
}

/// The columns of a batch share the message that they arrived in, so only what they use of it counts.
fn bytes(batch: &RecordBatch) -> Result<usize, Status> {
    let columns = batch.columns().iter();
    let sizes = columns.map(|column| column.to_data().get_slice_memory_size().map_err(internal));
    sizes.sum()
}

/// A stream that cannot be decoded is the client's error.
fn of_client(error: FlightError) -> Status {
    match error {
        FlightError::Tonic(status) => *status,
        other => invalid(format!("the parameters cannot be decoded: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(budget: &Budget, caller: &str) -> Held {
        Held {
            budget: budget.0.clone(),
            caller: caller.to_string(),
            bytes: 0,
        }
    }

    #[test]
    fn a_caller_leaves_room_for_others() {
        let budget = Budget::default();
        let mut streams = [held(&budget, "a"), held(&budget, "a"), held(&budget, "a")];
        assert!(streams[0].add(MOST_BYTES).is_ok());
        assert!(streams[1].add(MOST_BYTES).is_ok());
        assert!(streams[2].add(1).is_err());
        assert!(held(&budget, "b").add(1).is_ok());
        drop(streams);
        assert!(held(&budget, "a").add(1).is_ok());
        assert!(budget.0.lock().unwrap().is_empty());
    }

    #[test]
    fn a_stream_and_all_streams_are_bounded() {
        let budget = Budget::default();
        assert!(held(&budget, "a").add(MOST_BYTES + 1).is_err());
        let mut streams = Vec::new();
        for number in 0..MOST_BYTES_OF_ALL / MOST_BYTES {
            let mut stream = held(&budget, &format!("caller {number}"));
            stream.add(MOST_BYTES).unwrap();
            streams.push(stream);
        }
        assert!(held(&budget, "last").add(1).is_err());
        streams.pop();
        assert!(held(&budget, "last").add(1).is_ok());
    }
}
