//! The calls of a function during one job.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use arrow::array::{Array, ArrayRef, RecordBatch, new_empty_array, new_null_array};
use arrow::compute::concat;
use arrow::datatypes::DataType;
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;
use tracing::Instrument;

use super::batch_size::{BatchBounds, BatchSize};
use super::worker::{Ended, Worker, not_loaded};
use super::{Function, Functions};
use crate::error::{Error, Result};

/// A job fails if more rows end their process: the function does so, not its rows.
const MOST_ENDING_ROWS: usize = 64;
/// A job fails if so many processes in a row end while they load the function. One may be killed from outside.
const MOST_LOST_STARTS: usize = 3;
/// A job releases a process of at least this age if another job waits for one. Starting a process may take seconds.
const SLICE: Duration = Duration::from_secs(60);

/// The values of a batch.
pub struct Computed {
    /// The values of each call, in the order of the rows: together as many as rows. Null where the function failed.
    pub pieces: Vec<ArrayRef>,
    /// The rows for which the function failed, in their order, with its messages.
    pub failures: Vec<(usize, String)>,
}

/// Calls a function, in as many processes as callers wait for it and as the engine admits. Dropping it ends them.
pub struct FunctionRun {
    functions: Functions,
    function: Arc<Function>,
    /// The most processes at a time.
    slots: Semaphore,
    idle: Mutex<Vec<Worker>>,
    /// A worker was added to `idle`.
    returned: Notify,
    size: BatchSize,
    ending_rows: AtomicUsize,
    /// Processes that ended while they loaded the function, since one has loaded it.
    lost_starts: AtomicUsize,
    /// Callers of this run that wait for a permit.
    waiting: AtomicUsize,
}

impl FunctionRun {
    /// `processes`: the most at a time. `batches`: the rows of a call.
    pub fn new(
        functions: Functions,
        function: Function,
        processes: usize,
        batches: BatchBounds,
    ) -> Self {
        Self {
            slots: Semaphore::new(processes),
            functions,
            function: Arc::new(function),
            idle: Mutex::default(),
            returned: Notify::new(),
            size: BatchSize::new(batches),
            ending_rows: AtomicUsize::new(0),
            lost_starts: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Calls the function with the columns of a batch as its arguments. A call that ends its process is repeated with
    /// half of the rows, until the row that ends it is found; that row fails.
    ///
    /// The calls continue while the caller does not poll: it may write other values meanwhile.
    pub async fn compute(self: &Arc<Self>, arguments: RecordBatch) -> Result<Computed> {
        let run = self.clone();
        let mut calls = AbortOnDrop(tokio::spawn(
            async move { run.compute_all(&arguments).await }.in_current_span(),
        ));
        match (&mut calls.0).await {
            Ok(computed) => computed,
            Err(error) => Err(Error::internal("the calls of a function have ended", error)),
        }
    }

    async fn compute_all(&self, arguments: &RecordBatch) -> Result<Computed> {
        let rows = arguments.num_rows();
        let bytes_per_row = sent_bytes(arguments) / rows.max(1);
        let mut pieces: Vec<ArrayRef> = Vec::new();
        let mut failures = Vec::new();
        // Ranges to compute; the last one is next.
        let mut ranges = vec![(0, rows)];
        while let Some((first, count)) = ranges.pop() {
            let called = count.min(self.size.rows(bytes_per_row));
            if called == 0 {
                continue;
            }
            if called < count {
                ranges.push((first + called, count - called));
            }
            let slot = self.slots.acquire().await;
            let _slot = slot.map_err(|error| Error::internal("the run has ended", error))?;
            let worker = self.worker().await?;
            let begin = Instant::now();
            match worker.call(arguments.slice(first, called)).await? {
                Ok(reply) => {
                    self.size.took(called, begin.elapsed());
                    self.put_back(worker);
                    pieces.push(reply.values);
                    let failed = reply.failures.into_iter();
                    failures.extend(failed.map(|(row, message)| (first + row, message)));
                }
                Err(ended) => {
                    self.size.ended(called);
                    if called == 1 {
                        self.count(&ended)?;
                        pieces.push(new_null_array(self.function.output.data_type(), 1));
                        failures.push((first, ended.0));
                    } else {
                        let half = called / 2;
                        ranges.push((first + half, called - half));
                        ranges.push((first, half));
                    }
                }
            }
        }
        Ok(Computed { pieces, failures })
    }

    /// An idle worker, or a new one as soon as the engine admits it.
    async fn worker(&self) -> Result<Worker> {
        loop {
            let idle = self.idle.lock().pop();
            if let Some(worker) = idle {
                return Ok(worker);
            }
            let waiting = [
                Waiting::new(&self.functions.waiting),
                Waiting::new(&self.waiting),
            ];
            tokio::select! {
                permit = self.functions.permits.clone().acquire_owned() => {
                    drop(waiting);
                    let permit = permit.map_err(|error| {
                        Error::internal("the limit of processes is closed", error)
                    })?;
                    let settings = self.functions.settings.clone();
                    match Worker::start(settings, self.function.clone(), permit).await? {
                        Ok(worker) => {
                            self.lost_starts.store(0, Ordering::Relaxed);
                            return Ok(worker);
                        }
                        Err(ended) => {
                            let lost = 1 + self.lost_starts.fetch_add(1, Ordering::Relaxed);
                            if lost >= MOST_LOST_STARTS {
                                return Err(not_loaded(&self.function.name, &ended.0));
                            }
                        }
                    }
                }
                () = self.returned.notified() => {}
            }
        }
    }

    fn put_back(&self, worker: Worker) {
        let of_all = self.functions.waiting.load(Ordering::Relaxed);
        let of_others = of_all.saturating_sub(self.waiting.load(Ordering::Relaxed));
        if worker.age() > SLICE && of_others > 0 {
            return;
        }
        self.idle.lock().push(worker);
        self.returned.notify_one();
    }

    fn count(&self, ended: &Ended) -> Result<()> {
        if self.ending_rows.fetch_add(1, Ordering::Relaxed) < MOST_ENDING_ROWS {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "the function `{}` ended its process for more than {MOST_ENDING_ROWS} rows; the last \
             time, {}",
            self.function.name, ended.0
        )))
    }
}

impl Computed {
    /// The values as one array of the type of the function's column.
    pub fn values(&self, data_type: &DataType) -> Result<ArrayRef> {
        match self.pieces.as_slice() {
            [] => Ok(new_empty_array(data_type)),
            [one] => Ok(one.clone()),
            pieces => Ok(concat(
                &pieces.iter().map(AsRef::as_ref).collect::<Vec<_>>(),
            )?),
        }
    }
}

/// Bytes of the values of a batch, without the rest of buffers that it shares.
pub fn sent_bytes(batch: &RecordBatch) -> usize {
    let columns = batch.columns().iter().map(|column| {
        let data = column.to_data();
        let own = data.get_slice_memory_size();
        own.unwrap_or_else(|_| data.get_array_memory_size())
    });
    columns.sum()
}

/// Ends a task when its caller is dropped.
struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Counts a caller that waits for a process.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
