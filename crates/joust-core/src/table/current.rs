//! A version that was the newest at the last check.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lance::Dataset;

use crate::commit::OnBranch;

static NEXT_STAMP: AtomicU64 = AtomicU64::new(1);

/// A dataset that was the newest when the handle returned it.
#[derive(Clone)]
pub(crate) struct Current {
    pub dataset: Arc<Dataset>,
    /// Identifies the dataset within this process.
    pub stamp: u64,
    /// `None` on the main branch.
    pub branch: Option<Arc<OnBranch>>,
}

impl Current {
    pub fn new(dataset: Dataset, branch: Option<Arc<OnBranch>>) -> Self {
        Self {
            dataset: Arc::new(dataset),
            stamp: NEXT_STAMP.fetch_add(1, Ordering::Relaxed),
            branch,
        }
    }

    /// Whether its branch is deleted.
    pub fn is_retired(&self) -> bool {
        self.branch
            .as_ref()
            .is_some_and(|branch| branch.is_retired())
    }

    /// Whether both are of the main branch, or of the same branch without a deletion in between.
    pub fn is_same_branch(&self, other: Option<&Arc<OnBranch>>) -> bool {
        match (&self.branch, other) {
            (Some(own), Some(other)) => own.is_same(other),
            (own, other) => own.is_none() && other.is_none(),
        }
    }
}
