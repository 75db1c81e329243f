//! Runs the changes of a table that end in a commit.

use std::future::Future;

use super::Table;
use crate::commit::{CommitContext, CommitOutcome, Policy, Stamps, to_outcome};
use crate::work::WorkContext;

impl Table {
    /// The context of a commit for this request. `rows`: the rows of the request.
    pub(crate) fn commit_context(
        &self,
        policy: Policy,
        rows: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> CommitContext {
        let stamp = match policy.stamps() {
            Stamps::Request => self.stamp(rows),
            // A group has the stamps of its uploads.
            Stamps::Uploads | Stamps::None => None,
        };
        CommitContext::new(policy).stamped(stamp.into_iter().collect())
    }

    /// Runs a change that ends in a commit.
    pub(crate) async fn commit<W: Future>(&self, policy: Policy, change: W) -> W::Output {
        self.commit_in(self.commit_context(policy, || 0), change)
            .await
    }

    /// The same for work that may be cancelled: it then waits for the end of a commit that has begun.
    pub(crate) async fn commit_work<W: Future>(
        &self,
        policy: Policy,
        work: &WorkContext,
        change: W,
    ) -> W::Output {
        let context = self.commit_context(policy, || 0).of_work(work);
        self.commit_in(context, change).await
    }

    /// The same with a context.
    pub(crate) async fn commit_in<W: Future>(
        &self,
        context: CommitContext,
        change: W,
    ) -> W::Output {
        self.handle.commit_lock.run(context, change).await
    }

    /// Runs a delete or a merge, which Lance retries after a conflict.
    pub(super) async fn change_rows<T>(
        &self,
        rows: impl Fn() -> u64 + Send + Sync + 'static,
        change: impl Future<Output = lance::Result<T>>,
    ) -> lance::Result<CommitOutcome<T>> {
        let context = self.commit_context(Policy::RowChange, rows);
        self.commit_in(context, to_outcome(change)).await
    }
}
