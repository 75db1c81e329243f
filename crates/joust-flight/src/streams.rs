//! Statements that run and streams of rows to clients: as fast as the client reads, cancellable by name, closed if the
//! client stops reading.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use arrow::datatypes::SchemaRef;
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::error::FlightError;
use arrow_flight::{CancelStatus, FlightData};
use futures::stream::BoxStream;
use futures::{Stream, StreamExt, TryStreamExt};
use tonic::{Code, Status};

use crate::backend::BatchStream;
use crate::calls::Running;
use crate::heartbeat::with_heartbeats;

/// A client may read nothing for this long.
const IDLE: Duration = Duration::from_secs(300);

/// The statements that have not ended.
pub struct Streams {
    active: Mutex<HashMap<u64, Weak<Active>>>,
    last: AtomicU64,
    /// The longest silence of a statement that works.
    pub heartbeat: Duration,
}

/// A statement that has not ended.
struct Active {
    caller: String,
    /// The name with which its client cancels it.
    execution: Option<String>,
    state: Mutex<State>,
}

struct State {
    phase: Phase,
    /// It may have changed something.
    is_change: bool,
    /// Why it was ended.
    closed: Option<Status>,
    /// Since when the next step is the client's.
    waits_since: Option<Instant>,
    /// Of the task that waits for the engine.
    waker: Option<Waker>,
}

enum Phase {
    /// The call has no answer yet.
    Runs,
    Sends(BoxStream<'static, Result<FlightData, Status>>),
    Ended,
}

impl Active {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops the work. The client learns why if it waits or reads on. Returns `None` if the statement has ended.
    fn close(&self, end: End) -> Option<CancelStatus> {
        let mut state = self.state();
        let phase = std::mem::replace(&mut state.phase, Phase::Ended);
        if matches!(phase, Phase::Ended) {
            return None;
        }
        state.closed = Some(end.status(state.is_change));
        // A change may be past the point where it can be stopped.
        let closed = match state.is_change {
            true => CancelStatus::Cancelling,
            false => CancelStatus::Cancelled,
        };
        let waker = state.waker.take();
        drop(state);
        drop(phase);
        if let Some(waker) = waker {
            waker.wake();
        }
        Some(closed)
    }
}

/// Why the server ends a statement.
#[derive(Clone, Copy)]
enum End {
    Cancelled,
    /// The client does not read.
    Idle,
    Stopped,
}

impl End {
    /// A client may repeat a query at once. A change may be done: its status is none that clients take for an invitation
    /// to repeat it.
    fn status(self, is_change: bool) -> Status {
        let why = match self {
            Self::Cancelled => "the statement was cancelled".to_string(),
            Self::Idle => {
                let minutes = IDLE.as_secs() / 60;
                format!("the client has read nothing for {minutes} minutes")
            }
            Self::Stopped => "the server stops".to_string(),
        };
        match (self, is_change) {
            (Self::Cancelled, false) => Status::cancelled(why),
            (Self::Idle, false) => {
                Status::deadline_exceeded(format!("{why}: run the statement again"))
            }
            (Self::Stopped, false) => {
                Status::unavailable(format!("{why}: run the statement again"))
            }
            (_, true) => {
                let code = match self {
                    Self::Cancelled => Code::Cancelled,
                    Self::Idle | Self::Stopped => Code::Unknown,
                };
                let message = format!(
                    "{why}; the statement may have changed data: look at the data before you run it again"
                );
                Status::new(code, message)
            }
        }
    }
}

impl Streams {
    pub fn new(heartbeat: Duration) -> Arc<Self> {
        Arc::new(Self {
            active: Mutex::default(),
            last: AtomicU64::default(),
            heartbeat,
        })
    }

    /// A statement begins. `execution`: with this name its client cancels it.
    pub fn begin(self: &Arc<Self>, caller: &str, execution: Option<String>) -> Begun {
        let active = Arc::new(Active {
            caller: caller.to_string(),
            execution,
            state: Mutex::new(State {
                phase: Phase::Runs,
                is_change: false,
                closed: None,
                waits_since: None,
                waker: None,
            }),
        });
        let number = self.last.fetch_add(1, Ordering::Relaxed);
        self.active().insert(number, Arc::downgrade(&active));
        Begun {
            streams: self.clone(),
            number,
            active,
        }
    }

    /// Streams of rows that have not ended.
    pub fn len(&self) -> usize {
        let all = self.snapshot();
        let sends = |active: &&Arc<Active>| matches!(active.state().phase, Phase::Sends(_));
        all.iter().filter(sends).count()
    }

    /// Cancels the statements of a caller's execution. Returns `None` if there was none.
    pub fn cancel(&self, caller: &str, execution: &str) -> Option<CancelStatus> {
        let mut cancelled = None;
        for active in self.snapshot() {
            if active.caller == caller && active.execution.as_deref() == Some(execution) {
                let closed = active.close(End::Cancelled);
                cancelled = cancelled.max(closed);
            }
        }
        cancelled
    }

    /// Closes the streams whose clients have stopped reading.
    pub fn close_idle(&self, now: Instant) {
        for active in self.snapshot() {
            let waits_since = active.state().waits_since;
            if waits_since.is_some_and(|since| now.saturating_duration_since(since) > IDLE) {
                active.close(End::Idle);
            }
        }
    }

    pub fn close_all(&self) {
        for active in self.snapshot() {
            active.close(End::Stopped);
        }
    }

    fn snapshot(&self) -> Vec<Arc<Active>> {
        self.active().values().filter_map(Weak::upgrade).collect()
    }

    fn active(&self) -> MutexGuard<'_, HashMap<u64, Weak<Active>>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A statement that has begun. Dropping it, and the stream that it sends, ends it.
pub struct Begun {
    streams: Arc<Streams>,
    number: u64,
    active: Arc<Active>,
}

impl Begun {
    /// From now on the statement may change something.
    pub fn changes(&self) {
        self.active.state().is_change = true;
    }

    pub fn is_change(&self) -> bool {
        self.active.state().is_change
    }

    /// Runs the work before the answer. If the client cancels the statement, drops the work.
    pub async fn run<T>(&self, work: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
        let mut work = pin!(work);
        poll_fn(|context| {
            let mut state = self.active.state();
            if let Some(status) = state.closed.take() {
                return Poll::Ready(Err(status));
            }
            state.waker = Some(context.waker().clone());
            drop(state);
            work.as_mut().poll(context)
        })
        .await
    }

    /// Sends the schema, then the rows, with empty batches while the engine works.
    pub fn send(
        self,
        running: &Arc<Running>,
        (schema, batches): (SchemaRef, BatchStream),
    ) -> RowStream {
        let encoder = FlightDataEncoderBuilder::new()
            .with_schema(schema.clone())
            .build(batches.map_err(FlightError::from));
        // Without dictionaries.
        let sent = encoder.known_schema().unwrap_or(schema);
        let messages = encoder.map_err(Status::from).boxed();
        let messages = with_heartbeats(self.streams.heartbeat, sent, messages);
        let mut state = self.active.state();
        // It was cancelled after its work had ended.
        if matches!(state.phase, Phase::Runs) {
            state.phase = Phase::Sends(messages);
        }
        state.waits_since = Some(Instant::now());
        drop(state);
        running.begin_stream();
        RowStream {
            begun: self,
            running: running.clone(),
        }
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.streams.active().remove(&self.number);
    }
}

/// The messages of a reply.
pub struct RowStream {
    begun: Begun,
    running: Arc<Running>,
}

impl Stream for RowStream {
    type Item = Result<FlightData, Status>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut state = self.begun.active.state();
        let Phase::Sends(messages) = &mut state.phase else {
            let closed = state.closed.take();
            if let Some(status) = &closed {
                self.running.end(status.clone());
            }
            return Poll::Ready(closed.map(Err));
        };
        // The engine works, or the stream has ended.
        let polled = messages.poll_next_unpin(context);
        state.waits_since = polled.is_ready().then(Instant::now);
        match &polled {
            Poll::Ready(Some(Ok(message))) => {
                self.running
                    .add_bytes(message.data_header.len() + message.data_body.len());
            }
            Poll::Ready(Some(Err(status))) => {
                self.running.end(status.clone());
                state.phase = Phase::Ended;
            }
            Poll::Ready(None) => {
                self.running.end(Status::new(Code::Ok, ""));
                state.phase = Phase::Ended;
            }
            Poll::Pending => state.waker = Some(context.waker().clone()),
        }
        polled
    }
}
