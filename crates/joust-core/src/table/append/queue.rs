//! The queue of rows to commit to one table.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use lance::Dataset;
use lance::dataset::transaction::Transaction;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tracing::Span;

use crate::commit::{OnBranch, RequestStamp};
use crate::error::{Code, Error, Result};
use crate::memory::Reservation;
use crate::table::Written;

/// The most queued uploads of a table, and their bytes of rows.
const MAX_WAITING: usize = 4096;
const MAX_WAITING_BYTES: usize = 256 << 20;
/// The most bytes of rows in one commit.
const MAX_GROUP_BYTES: usize = 64 << 20;

/// A complete upload.
pub(super) enum Rows {
    /// In memory.
    Gathered {
        schema: SchemaRef,
        batches: Vec<RecordBatch>,
        bytes: usize,
        /// Reserved for the copy that is written.
        _memory: Reservation,
    },
    /// In its own files, which no version references yet.
    Staged {
        transaction: Box<Transaction>,
        /// The version for which they were written.
        version: Arc<Dataset>,
        /// The branch with the files.
        branch: Option<Arc<OnBranch>>,
        num_rows: u64,
    },
}

impl Rows {
    fn count(&self) -> u64 {
        match self {
            Self::Gathered { batches, .. } => {
                batches.iter().map(|batch| batch.num_rows() as u64).sum()
            }
            Self::Staged { num_rows, .. } => *num_rows,
        }
    }
}

/// Reports the outcome of an append once, on the thread that determines it, also after a panic.
pub(super) struct Answer(Option<Box<dyn FnOnce(Result<Written>) + Send + Sync>>);

impl Answer {
    pub fn new(on_outcome: impl FnOnce(Result<Written>) + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(on_outcome)))
    }

    pub fn report(mut self, outcome: Result<Written>) {
        self.once(outcome);
    }

    /// A panic of one callback does not affect other answers.
    fn once(&mut self, outcome: Result<Written>) {
        if let Some(on_outcome) = self.0.take() {
            let _ = catch_unwind(AssertUnwindSafe(|| on_outcome(outcome)));
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.once(Err(match std::thread::panicking() {
            true => Error::new(
                Code::Internal,
                "the write could not be completed; the server's log says why",
            ),
            false => Error::new(Code::ServiceUnavailable, "the write was cancelled"),
        }));
    }
}

pub(super) struct Waiting {
    pub rows: Rows,
    /// The request stamp for its commit.
    pub stamp: Option<RequestStamp>,
    /// The traced call that waits for it.
    pub span: Span,
    bytes: usize,
    answer: Answer,
}

impl Waiting {
    /// `stamp`: creates the stamp for a number of rows.
    pub fn new(
        rows: Rows,
        stamp: impl FnOnce(u64) -> Option<RequestStamp>,
        answer: Answer,
    ) -> Self {
        let bytes = match rows {
            Rows::Gathered { bytes, .. } => bytes,
            Rows::Staged { .. } => 0,
        };
        Self {
            stamp: stamp(rows.count()),
            span: Span::current(),
            rows,
            bytes,
            answer,
        }
    }

    /// With the receiver of its answer.
    #[cfg(test)]
    pub fn with_receiver(rows: Rows) -> (Self, tokio::sync::oneshot::Receiver<Result<Written>>) {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let answer = Answer::new(|outcome| {
            let _ = sender.send(outcome);
        });
        (Self::new(rows, |_| None, answer), receiver)
    }

    /// Bytes of its rows in memory.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Answers that the rows are in a version.
    pub fn written(self, version: u64) {
        let num_rows = self.rows.count();
        self.answer.report(Ok(Written { version, num_rows }));
    }

    pub fn refused(self, error: Error) {
        self.answer.report(Err(error));
    }
}

/// Appends of one table, first in, first out.
#[derive(Default)]
pub(in crate::table) struct Queue {
    state: Mutex<State>,
    /// Notified when the awaited number of uploads is queued.
    many: Notify,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    bytes: usize,
    /// A committer is running and will check the queue again before it ends.
    committing: bool,
    /// The number of uploads that the committer waits for, or that it last waited for.
    awaited: usize,
}

impl Queue {
    /// Returns true if no committer is running: the caller must start one. Rejects uploads beyond the capacity.
    pub(super) fn push(&self, waiting: Waiting) -> bool {
        let mut state = self.state.lock();
        let is_full = state.waiting.len() >= MAX_WAITING
            || state.bytes + waiting.bytes > MAX_WAITING_BYTES && !state.waiting.is_empty();
        if is_full {
            drop(state);
            waiting.refused(full());
            return false;
        }
        state.bytes += waiting.bytes;
        state.waiting.push_back(waiting);
        if state.awaited > 0 && state.waiting.len() >= state.awaited {
            state.awaited = 0;
            self.many.notify_waiters();
        }
        !std::mem::replace(&mut state.committing, true)
    }

    /// Puts uploads of a committer back, in front of all others.
    pub(super) fn take_back(&self, uploads: Vec<Waiting>) {
        let mut state = self.state.lock();
        state.bytes += uploads.iter().map(Waiting::bytes).sum::<usize>();
        for upload in uploads.into_iter().rev() {
            state.waiting.push_front(upload);
        }
    }

    /// Waits until `count` uploads are queued.
    pub(super) async fn many(&self, count: usize) {
        loop {
            // Created before the check, so that no notification is missed.
            let come = self.many.notified();
            {
                let mut state = self.state.lock();
                if state.waiting.len() >= count {
                    return;
                }
                state.awaited = count;
            }
            come.await;
        }
    }

    /// Rejects all queued uploads, for a committer that ended early: the next push starts another.
    pub(super) fn abandon(&self) {
        let left = {
            let mut state = self.state.lock();
            state.committing = false;
            state.bytes = 0;
            std::mem::take(&mut state.waiting)
        };
        drop(left);
    }

    /// The uploads of the next commit; `None` ends the committer, and the next push starts another.
    pub(super) fn take(&self) -> Option<Vec<Waiting>> {
        let mut state = self.state.lock();
        let mut group = Vec::new();
        let mut bytes = 0;
        while let Some(next) = state.waiting.front() {
            if !group.is_empty() && bytes + next.bytes > MAX_GROUP_BYTES {
                break;
            }
            bytes += next.bytes;
            group.extend(state.waiting.pop_front());
        }
        state.bytes -= bytes;
        state.committing = !group.is_empty();
        state.committing.then_some(group)
    }
}

fn full() -> Error {
    Error::new(
        Code::Throttling,
        "too many writes wait for this table; send the rows again later, or more of them in one \
         request",
    )
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
