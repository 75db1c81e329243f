//! The context of long work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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

/// Reports the progress of work, and whether it may still be dropped. Cheap to clone.
#[derive(Clone)]
pub struct WorkContext {
    on_progress: OnProgress,
    committing: Arc<AtomicBool>,
}

impl WorkContext {
    pub fn new(on_progress: OnProgress) -> Self {
        Self {
            on_progress,
            committing: Arc::default(),
        }
    }

    /// A commit is running. Dropping the work now would not stop it: a store finishes a write that it has started,
    /// perhaps after the table was removed. Wait for the end instead.
    pub fn is_committing(&self) -> bool {
        self.committing.load(Ordering::Acquire)
    }

    pub(crate) fn set_committing(&self, committing: bool) {
        self.committing.store(committing, Ordering::Release);
    }

    pub(crate) fn report(&self, stage: &str, completed: u64, total: Option<u64>) {
        (self.on_progress)(Progress {
            stage: stage.to_string(),
            completed,
            total,
        });
    }
}
