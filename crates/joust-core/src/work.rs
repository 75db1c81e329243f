//! The context of long work.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use tokio::sync::watch;

pub use tokio_util::sync::CancellationToken;

use crate::error::{Code, Error, Result};

/// The progress of work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// The engine's name of the running stage: `train_ivf`, `shuffle` and so on.
    pub stage: String,
    pub completed: u64,
    /// Absent if it is unknown.
    pub total: Option<u64>,
}

/// Called from engine threads whenever work has progressed.
pub type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;

/// Reports the progress of work and ends it when it is cancelled. Cheap to clone; clones share the state.
#[derive(Clone)]
pub struct WorkContext {
    on_progress: OnProgress,
    cancel: CancellationToken,
    committing: watch::Sender<bool>,
}

impl WorkContext {
    #[must_use]
    pub fn new(on_progress: OnProgress, cancel: CancellationToken) -> Self {
        Self {
            on_progress,
            cancel,
            committing: watch::Sender::new(false),
        }
    }

    /// Runs work until its end, or until it is cancelled (code 17). A commit is not cancelled: a store finishes a write
    /// that it has started, perhaps after the table was removed. So cancelled work that commits ends with the commit.
    pub async fn run<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let mut work = pin!(work);
        tokio::select! {
            outcome = &mut work => return outcome,
            () = self.cancel.cancelled() => {}
        }
        let mut committing = self.committing.subscribe();
        tokio::select! {
            outcome = &mut work => outcome,
            _ = committing.wait_for(|committing| !committing) => Err(cancelled()),
        }
    }

    /// Says whether a commit is running.
    pub(crate) fn set_committing(&self, committing: bool) {
        self.committing.send_replace(committing);
    }

    pub(crate) fn report(&self, stage: &str, completed: u64, total: Option<u64>) {
        self.report_progress(Progress {
            stage: stage.to_string(),
            completed,
            total,
        });
    }

    pub(crate) fn report_progress(&self, progress: Progress) {
        (self.on_progress)(progress);
    }
}

/// Work whose progress is not reported and that is never cancelled.
impl Default for WorkContext {
    fn default() -> Self {
        Self::new(Arc::new(|_| {}), CancellationToken::new())
    }
}

/// The error of cancelled work.
#[must_use]
pub fn cancelled() -> Error {
    Error::new(Code::ServiceUnavailable, "the work was cancelled")
}

#[cfg(test)]
#[path = "work_tests.rs"]
mod tests;
