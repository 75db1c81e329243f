//! Commits of changed columns, and of their metadata.
//!
//! Such a commit replaces the fragment list of the table, or its schema. Lance rejects it if any row was added since
//! the version on which it was built, and does not retry. Here the change takes the lock of updates and deletes, and is
//! rebuilt on the newest version until it is committed. During the second and later attempts this process makes no
//! other commit. A change that still loses, to other processes, [starves](crate::commit::Starvation), so that those can
//! pause.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use lance::Dataset;
use parking_lot::Mutex;

use super::Table;
use super::memory::ROWS_AT_ONCE;
use super::write_admission::Begun;
use crate::commit::{Attempts, Policy};
use crate::error::Result;
use crate::schema::Evaluation;
use crate::schema::expression::Expression;

/// The work of a schema change besides its commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort<'a> {
    /// It writes no values.
    Metadata,
    /// It reads rows and may write the values of all of them, which these expressions compute.
    Values(&'a [Expression]),
}

/// A change under construction; resolves to the new version.
pub(super) type Built<'a> = BoxFuture<'a, Result<Dataset>>;

impl Table {
    /// Changes the schema in one commit; returns the new version. `build` makes the change on a version and commits it.
    /// After code 14, `build` runs again with the newest version.
    pub(super) async fn change_schema<'a>(
        &self,
        effort: Effort<'_>,
        build: impl Fn(Arc<Dataset>) -> Built<'a>,
    ) -> Result<u64> {
        self.while_there(self.change_with_lock(effort, build)).await
    }

    async fn change_with_lock<'a>(
        &self,
        effort: Effort<'_>,
        build: impl Fn(Arc<Dataset>) -> Built<'a>,
    ) -> Result<u64> {
        let change = match self.begin_schema(effort).await? {
            Begun::Before(earlier) => return Ok(earlier.written().version),
            Begun::Now(change) => change,
        };
        let mut losses = self.handle.commit_lock.starvation().losses();
        let mut attempts = Attempts::at(Policy::SchemaChange);
        loop {
            let built = match effort {
                // Inserts continue during the first attempt.
                Effort::Values(_) if attempts.is_first() => build(change.dataset.clone()).await,
                _ => self.build_alone(&build).await,
            };
            match built {
                Ok(dataset) => return Ok(self.committed(dataset)),
                Err(error) => attempts.lost(error).await?,
            }
            losses.add();
        }
    }

    async fn begin_schema(&self, effort: Effort<'_>) -> Result<Begun<'_>> {
        match effort {
            Effort::Values(computes) => {
                let computed =
                    |version: &Dataset| Evaluation::of_columns(version, computes, ROWS_AT_ONCE);
                self.begin_change(0, computed).await
            }
            Effort::Metadata => Ok(Begun::Now(self.begin_without_memory().await?)),
        }
    }

    /// Makes no commit to this branch for this time, so that another process can commit. A call during a pause extends
    /// it and does not wait.
    pub async fn pause_commits(&self, time: Duration) {
        let paused = &self.handle.paused_until;
        if paused.lock().replace(Instant::now() + time).is_some() {
            return;
        }
        let _end = Ending(paused);
        let pause = async {
            *paused.lock() = Some(Instant::now() + time);
            loop {
                let until = *paused.lock();
                let left = until.and_then(|until| until.checked_duration_since(Instant::now()));
                match left.filter(|left| !left.is_zero()) {
                    Some(left) => tokio::time::sleep(left).await,
                    None => return,
                }
            }
        };
        self.handle.commit_lock.pause(pause).await;
    }

    /// Builds a change on the newest version while this process makes no other commit.
    async fn build_alone<'a>(&self, build: &impl Fn(Arc<Dataset>) -> Built<'a>) -> Result<Dataset> {
        let built = async { build(self.changeable().await?).await };
        self.commit(Policy::SchemaChange, built).await
    }
}

/// Ends a pause, even if its future is dropped.
struct Ending<'a>(&'a Mutex<Option<Instant>>);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        *self.0.lock() = None;
    }
}
