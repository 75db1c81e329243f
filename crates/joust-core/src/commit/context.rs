//! Everything that a commit has to know about its change.
//!
//! Lance calls the commit handler from inside of its operations and passes nothing of joust on to it. So each
//! operation runs with a [`CommitContext`], the only task-local value of the pipeline. The branch is not part of it: a
//! commit belongs to the branch on which its dataset was opened, and the [handler](super::Handler) has that one.

use std::future::Future;
use std::sync::Arc;

use lance::Dataset;

use super::lock::HeldLock;
use super::outcome::LastCommit;
use super::policy::{Outcome, Policy};
use super::request_stamp::RequestStamp;
use super::view_state::ViewState;
use crate::storage::fsync::PendingFsync;
use crate::work::WorkContext;

tokio::task_local! {
    static CONTEXT: Arc<CommitContext>;
}

/// The context of the commits of one change.
#[derive(Default)]
pub(crate) struct CommitContext {
    pub(super) policy: Policy,
    /// The requests for which the change is made.
    pub(super) stamps: Vec<RequestStamp>,
    /// The versions for which its rows were written; empty if its rows fit every version.
    pub(super) written_for: Vec<Arc<Dataset>>,
    /// The state of the view that it refreshes.
    pub(super) view_state: Option<ViewState>,
    /// The running fsyncs of its staged files.
    pub(super) pending_fsync: Vec<PendingFsync>,
    /// The work that ends in the change, if it may be cancelled.
    pub(super) work: Option<WorkContext>,
    /// The commit lock of its table, which the change may hold.
    pub(super) lock: Option<Arc<HeldLock>>,
    /// The last commit that it attempted; `None` if its policy does not follow that commit.
    pub(super) last: Option<LastCommit>,
}

impl CommitContext {
    pub fn new(policy: Policy) -> Self {
        let is_followed = policy.terms().outcome == Outcome::Confirmed;
        Self {
            policy,
            last: is_followed.then(LastCommit::default),
            ..Self::default()
        }
    }

    /// The requests for which the change is made.
    pub fn stamped(mut self, stamps: Vec<RequestStamp>) -> Self {
        self.stamps = stamps;
        self
    }

    /// The versions for which its rows were written.
    pub fn written_for(mut self, versions: Vec<Arc<Dataset>>) -> Self {
        self.written_for = versions;
        self
    }

    /// The state of the view that it refreshes.
    pub fn view_state(mut self, state: ViewState) -> Self {
        self.view_state = Some(state);
        self
    }

    /// The fsyncs of its staged files that may still run.
    pub fn pending_fsync(mut self, pending: Vec<PendingFsync>) -> Self {
        self.pending_fsync = pending;
        self
    }

    /// The work that ends in the change. Once its commit has begun, it is not cancelled before the commit ends.
    pub fn of_work(mut self, work: &WorkContext) -> Self {
        self.work = Some(work.clone());
        self
    }

    /// Says whether a commit runs.
    pub(super) fn set_committing(&self, committing: bool) {
        if let Some(work) = &self.work {
            work.set_committing(committing);
        }
    }

    /// The last commit that the change attempts.
    pub fn last_commit(&self) -> LastCommit {
        self.last.clone().unwrap_or_default()
    }

    /// The context of the running change; one of [`Policy::Plain`] if there is none.
    pub(super) fn current() -> Arc<Self> {
        CONTEXT.try_with(Arc::clone).unwrap_or_default()
    }

    /// Runs a change in this context.
    pub(super) fn scope<W: Future>(
        self: &Arc<Self>,
        change: W,
    ) -> impl Future<Output = W::Output> + use<W> {
        CONTEXT.scope(self.clone(), change)
    }
}

#[cfg(test)]
#[path = "cancelled_work_tests.rs"]
mod cancelled_work_tests;
