//! Runs statements on separate threads.
//!
//! A join without a key compares all rows of both sides, and processes a whole batch in one step that cannot be
//! interrupted. On an engine thread that would block other requests. Here a step may be long: its reader's deadline
//! ends the request in time, and the thread ends after its step, with low priority.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Instant;

use arrow::array::RecordBatch;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::{DataFusionError, Result as PlanResult};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::future::select;
use futures::stream::BoxStream;
use futures::{StreamExt, stream};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, mpsc};
use tracing::{Instrument, info_span};

use crate::error::{Code, Error, Result};
use crate::memory::Reservation;
use crate::planning::{lower_priority, thread_number};

/// The most statements that run concurrently, including those that have not finished their last step.
const MOST: usize = 64;
/// Stack of a thread, bytes.
const STACK: usize = 16 << 20;

static THREADS: Semaphore = Semaphore::const_new(MOST);

/// Whether the reader of a statement is dropped.
pub type ReaderDropped = Arc<AtomicBool>;

/// The same plan, whose joins end when the reader is dropped: a step is then at most a join's work on one batch.
pub fn interruptible(
    plan: Arc<dyn ExecutionPlan>,
    reader_dropped: &ReaderDropped,
) -> Result<Arc<dyn ExecutionPlan>> {
    let wrapped = plan.transform_up(|node| {
        if !node.name().ends_with("JoinExec") {
            return Ok(Transformed::no(node));
        }
        let inputs = node.children().into_iter().map(|input| {
            Arc::new(Interruptible {
                input: input.clone(),
                reader_dropped: reader_dropped.clone(),
            }) as Arc<dyn ExecutionPlan>
        });
        let inputs = inputs.collect();
        node.with_new_children(inputs).map(Transformed::yes)
    });
    Ok(wrapped.map_err(Error::of_input)?.data)
}

/// Passes the rows of its input until the reader is dropped.
#[derive(Debug)]
struct Interruptible {
    input: Arc<dyn ExecutionPlan>,
    reader_dropped: ReaderDropped,
}

impl DisplayAs for Interruptible {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interruptible")
    }
}

impl ExecutionPlan for Interruptible {
    fn name(&self) -> &'static str {
        "Interruptible"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self {
            input: children.swap_remove(0),
            reader_dropped: self.reader_dropped.clone(),
        }))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> PlanResult<SendableRecordBatchStream> {
        let rows = self.input.execute(partition, context)?;
        let reader_dropped = self.reader_dropped.clone();
        let rows = rows.map(move |batch| match reader_dropped.load(Ordering::Relaxed) {
            true => Err(DataFusionError::External(Box::new(Error::new(
                Code::ServiceUnavailable,
                "the client has closed the connection",
            )))),
            false => batch,
        });
        let schema = self.input.schema();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}

/// A batch of a statement.
pub struct Computed {
    /// When it was ready. Its reader may take it later.
    pub ready: Instant,
    /// `None` at the end of the rows.
    pub batch: Option<Result<RecordBatch>>,
}

impl Computed {
    /// A batch that is ready now.
    pub fn now(batch: Option<Result<RecordBatch>>) -> Self {
        Self {
            ready: Instant::now(),
            batch,
        }
    }
}

/// The same rows, computed on a separate thread, one batch ahead of their reader. Dropping them ends the thread after
/// its current step, which holds `memory` until then.
pub async fn on_own_thread(
    mut rows: BoxStream<'static, Result<RecordBatch>>,
    memory: Reservation,
    reader_dropped: ReaderDropped,
) -> Result<BoxStream<'static, Computed>> {
    let permit = THREADS.acquire().await.map_err(unavailable)?;
    let (sender, receiver) = mpsc::channel(1);
    let running = Running {
        thread: Arc::default(),
        reader_dropped,
    };
    let (runtime, thread) = (Handle::current(), running.thread.clone());
    let work = async move {
        let send = async {
            while let Some(batch) = rows.next().await {
                if sender.send(Computed::now(Some(batch))).await.is_err() {
                    return;
                }
            }
            let _ = sender.send(Computed::now(None)).await;
        };
        select(pin!(sender.closed()), pin!(send)).await;
    };
    let work = work.instrument(info_span!("execute statement"));
    std::thread::Builder::new()
        .name("joust-sql".to_string())
        .stack_size(STACK)
        .spawn(move || {
            let _held = (permit, memory);
            thread.store(thread_number(), Ordering::Relaxed);
            runtime.block_on(work);
            // The system may now reuse the number for another thread.
            thread.store(0, Ordering::Relaxed);
        })
        .map_err(unavailable)?;
    Ok(stream::unfold(Some((receiver, running)), next).boxed())
}

type Reading = (mpsc::Receiver<Computed>, Running);

async fn next(reading: Option<Reading>) -> Option<(Computed, Option<Reading>)> {
    let (mut receiver, running) = reading?;
    match receiver.recv().await {
        Some(computed) => {
            let rest = computed.batch.is_some().then_some((receiver, running));
            Some((computed, rest))
        }
        // The thread panicked.
        None => Some((
            Computed::now(Some(Err(Error::new(
                Code::Internal,
                "the engine failed; the server's log says why",
            )))),
            None,
        )),
    }
}

/// The system's number of a thread that computes rows; 0: none.
struct Running {
    thread: Arc<AtomicU32>,
    reader_dropped: ReaderDropped,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.reader_dropped.store(true, Ordering::Relaxed);
        lower_priority(self.thread.load(Ordering::Relaxed));
    }
}

fn unavailable(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::internal("no thread could be begun", error)
}
