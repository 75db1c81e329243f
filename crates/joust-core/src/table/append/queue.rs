//! The rows that wait for a commit of one table.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use lance::Dataset;
use lance::dataset::transaction::Transaction;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::commit::{OnBranch, RequestStamp};
use crate::error::{Code, Error, Result};
use crate::memory::Reservation;
use crate::table::Written;

/// Uploads, and bytes of their rows, that may wait for a table at once.
const MAX_WAITING: usize = 4096;
const MAX_WAITING_BYTES: usize = 256 << 20;
/// Bytes of rows that one commit takes up.
const MAX_GROUP_BYTES: usize = 64 << 20;

/// An upload that is here in full.
pub(super) enum Rows {
    /// In memory.
    Gathered {
        schema: SchemaRef,
        batches: Vec<RecordBatch>,
        bytes: usize,
        /// Taken for the copy that is written.
        _memory: Reservation,
    },
    /// In files of its own, which no version names yet.
    Staged {
        transaction: Box<Transaction>,
        /// The version that they were written for.
        version: Arc<Dataset>,
        /// The branch that they are beside.
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

/// Tells once how an append has ended, on whichever thread knows: also when that has panicked.
pub(super) struct Answer(Option<Box<dyn FnOnce(Result<Written>) + Send + Sync>>);

impl Answer {
    pub fn new(told: impl FnOnce(Result<Written>) + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(told)))
    }

    pub fn tell(mut self, outcome: Result<Written>) {
        self.once(outcome);
    }

    /// A panic of who is told ends nobody else's answer.
    fn once(&mut self, outcome: Result<Written>) {
        if let Some(told) = self.0.take() {
            let _ = catch_unwind(AssertUnwindSafe(|| told(outcome)));
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
    /// What its commit tells of it.
    pub stamp: Option<RequestStamp>,
    bytes: usize,
    answer: Answer,
}

impl Waiting {
    /// `stamp`: makes the stamp of an upload of so many rows.
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
            rows,
            bytes,
            answer,
        }
    }

    /// With where its answer comes.
    #[cfg(test)]
    pub fn heard(rows: Rows) -> (Self, tokio::sync::oneshot::Receiver<Result<Written>>) {
        let (tell, told) = tokio::sync::oneshot::channel();
        let answer = Answer::new(|outcome| {
            let _ = tell.send(outcome);
        });
        (Self::new(rows, |_| None, answer), told)
    }

    /// Bytes of its rows that are in memory.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Tells the client that its rows are in a version.
    pub fn written(self, version: u64) {
        let num_rows = self.rows.count();
        self.answer.tell(Ok(Written { version, num_rows }));
    }

    pub fn refused(self, error: Error) {
        self.answer.tell(Err(error));
    }
}

/// Appends of one table, first come, first served.
#[derive(Default)]
pub(in crate::table) struct Queue {
    state: Mutex<State>,
    /// As many wait as were awaited.
    many: Notify,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    bytes: usize,
    /// Somebody commits, and will look here again before it ends.
    committing: bool,
    /// How many somebody waits for, or did until something else came.
    awaited: usize,
}

impl Queue {
    /// True: nobody commits, and the caller sees to it that somebody does. What there is no room for is
    /// refused.
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

    /// Takes back from who commits what it was given, before all others.
    pub(super) fn take_back(&self, uploads: Vec<Waiting>) {
        let mut state = self.state.lock();
        state.bytes += uploads.iter().map(Waiting::bytes).sum::<usize>();
        for upload in uploads.into_iter().rev() {
            state.waiting.push_front(upload);
        }
    }

    /// Waits until `count` uploads wait.
    pub(super) async fn many(&self, count: usize) {
        loop {
            // Before the question: what comes after the answer is heard.
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

    /// Refuses all that waits, for a committer that has ended before its time: the next push starts another.
    pub(super) fn abandon(&self) {
        let left = {
            let mut state = self.state.lock();
            state.committing = false;
            state.bytes = 0;
            std::mem::take(&mut state.waiting)
        };
        drop(left);
    }

    /// What the next commit takes up; `None` ends the committer, and the next push starts another.
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
