//! Streams of rows to clients: as fast as the client reads, cancellable by name, closed if the client stops reading.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use arrow::datatypes::SchemaRef;
use arrow_flight::FlightData;
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::error::FlightError;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt, TryStreamExt};
use tonic::{Code, Status};

use crate::backend::BatchStream;
use crate::calls::Running;

/// A client may read nothing for this long.
const IDLE: Duration = Duration::from_secs(300);

/// The rows on their way to clients.
#[derive(Default)]
pub struct Streams {
    active: Mutex<HashMap<u64, Weak<Active>>>,
    last: AtomicU64,
}

/// A stream that has not ended.
struct Active {
    caller: String,
    /// The name with which its client cancels it.
    execution: Option<String>,
    state: Mutex<State>,
}

struct State {
    rows: Option<BoxStream<'static, Result<FlightData, Status>>>,
    /// Why the rows were dropped.
    closed: Option<Status>,
    /// Since when the next step is the client's.
    waits_since: Option<Instant>,
    /// Of the reply that waits for the engine.
    waker: Option<Waker>,
}

impl Active {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops the rows, which cancels their work. The client gets `status` if it reads on.
    fn close(&self, status: Status) -> bool {
        let mut state = self.state();
        let rows = state.rows.take();
        if rows.is_some() {
            state.closed = Some(status);
        }
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        rows.is_some()
    }
}

impl Streams {
    /// Sends the schema, then the rows.
    pub fn send(
        self: &Arc<Self>,
        running: &Arc<Running>,
        caller: &str,
        execution: Option<String>,
        (schema, batches): (SchemaRef, BatchStream),
    ) -> RowStream {
        let batches = batches.map_err(FlightError::from);
        let encoded = FlightDataEncoderBuilder::new()
            .with_schema(schema)
            .build(batches)
            .map_err(Status::from);
        let active = Arc::new(Active {
            caller: caller.to_string(),
            execution,
            state: Mutex::new(State {
                rows: Some(encoded.boxed()),
                closed: None,
                waits_since: Some(Instant::now()),
                waker: None,
            }),
        });
        let number = self.last.fetch_add(1, Ordering::Relaxed);
        self.active().insert(number, Arc::downgrade(&active));
        running.begin_stream();
        RowStream {
            streams: self.clone(),
            number,
            active,
            running: running.clone(),
        }
    }

    /// Streams that have not ended.
    pub fn len(&self) -> usize {
        self.active().len()
    }

    /// Cancels the streams of a caller's execution. Returns whether there was one.
    pub fn cancel(&self, caller: &str, execution: &str) -> bool {
        let mut cancelled = false;
        for active in self.snapshot() {
            if active.caller == caller && active.execution.as_deref() == Some(execution) {
                cancelled |= active.close(Status::cancelled("the statement was cancelled"));
            }
        }
        cancelled
    }

    /// Closes the streams whose clients have stopped reading.
    pub fn close_idle(&self, now: Instant) {
        for active in self.snapshot() {
            let waits_since = active.state().waits_since;
            if waits_since.is_some_and(|since| now.saturating_duration_since(since) > IDLE) {
                active.close(Status::deadline_exceeded(format!(
                    "the client has read nothing for {} minutes: run the statement again",
                    IDLE.as_secs() / 60
                )));
            }
        }
    }

    pub fn close_all(&self) {
        for active in self.snapshot() {
            active.close(Status::unavailable(
                "the server stops: run the statement again",
            ));
        }
    }

    fn snapshot(&self) -> Vec<Arc<Active>> {
        self.active().values().filter_map(Weak::upgrade).collect()
    }

    fn active(&self) -> MutexGuard<'_, HashMap<u64, Weak<Active>>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The messages of a reply.
pub struct RowStream {
    streams: Arc<Streams>,
    number: u64,
    active: Arc<Active>,
    running: Arc<Running>,
}

impl Stream for RowStream {
    type Item = Result<FlightData, Status>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut state = self.active.state();
        let Some(rows) = state.rows.as_mut() else {
            let closed = state.closed.take();
            if let Some(status) = &closed {
                self.running.end(status.clone());
            }
            return Poll::Ready(closed.map(Err));
        };
        // The engine works, or the stream has ended.
        let polled = rows.poll_next_unpin(context);
        state.waits_since = polled.is_ready().then(Instant::now);
        match &polled {
            Poll::Ready(Some(Ok(message))) => {
                self.running
                    .add_bytes(message.data_header.len() + message.data_body.len());
            }
            Poll::Ready(Some(Err(status))) => {
                self.running.end(status.clone());
                state.rows = None;
            }
            Poll::Ready(None) => {
                self.running.end(Status::new(Code::Ok, ""));
                state.rows = None;
            }
            Poll::Pending => state.waker = Some(context.waker().clone()),
        }
        polled
    }
}

impl Drop for RowStream {
    fn drop(&mut self) {
        self.streams.active().remove(&self.number);
    }
}
