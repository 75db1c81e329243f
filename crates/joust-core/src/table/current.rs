//! A version that was the newest when it was looked for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lance::Dataset;

use crate::commit::OnBranch;

static NEXT_STAMP: AtomicU64 = AtomicU64::new(1);

/// A dataset that was the newest when it was handed out.
#[derive(Clone)]
pub(crate) struct Current {
    pub dataset: Arc<Dataset>,
    /// Unique in this process to the dataset it came with.
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

    /// Whether it is of a branch that is deleted.
    pub fn is_retired(&self) -> bool {
        self.branch
            .as_ref()
            .is_some_and(|branch| branch.is_retired())
    }

    /// Whether both are of the main branch, or of one that was not deleted in between.
    pub fn is_same_branch(&self, other: Option<&Arc<OnBranch>>) -> bool {
        match (&self.branch, other) {
            (Some(own), Some(other)) => own.is_same(other),
            (own, other) => own.is_none() && other.is_none(),
        }
    }
}
