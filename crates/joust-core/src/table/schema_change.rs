//! Commits of changed columns, and of their metadata.
//!
//! Such a commit replaces the list of the table's fragments, or its schema, so Lance refuses it when any row was
//! added since the version that it was built on, and leaves it to the caller to try again. Here the change waits
//! for its turn among updates and deletes, and is built again on the newest version until it is committed. The
//! second attempt and later ones are built while no other commit of this process is made. A change that still
//! loses, to other processes, is [listed](super::outrun), so that those can pause.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use lance::Dataset;
use parking_lot::Mutex;

use super::Table;
use super::memory::ROWS_AT_ONCE;
use super::write_admission::Begun;
use crate::error::{Code, Error, Result};
use crate::schema::Evaluation;
use crate::schema::expression::Expression;

/// How long a change is tried again after it has lost; as long as Lance tries updates and deletes again.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// How long a change loses before others are asked to pause.
const ALONE: Duration = Duration::from_millis(500);
/// The longest pause after an attempt, in which another process ends its own commit.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// What a change of the schema does besides its commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort<'a> {
    /// It writes no values.
    Metadata,
    /// It reads rows and may write values of all of them, which these expressions compute.
    Values(&'a [Expression]),
}

/// A change on its way to the version that it makes.
pub(super) type Built<'a> = BoxFuture<'a, Result<Dataset>>;

impl Table {
    /// Changes the schema in one commit, whose version it gives back. `build` makes the change on a version and
    /// commits it; code 14 has it called again with the newest version.
    pub(super) async fn change_schema<'a>(
        &self,
        effort: Effort<'_>,
        build: impl Fn(Arc<Dataset>) -> Built<'a>,
    ) -> Result<u64> {
        self.while_there(self.change_in_turn(effort, build)).await
    }

    async fn change_in_turn<'a>(
        &self,
        effort: Effort<'_>,
        build: impl Fn(Arc<Dataset>) -> Built<'a>,
    ) -> Result<u64> {
        let change = match self.begin_schema(effort).await? {
            Begun::Before(earlier) => return Ok(earlier.written().version),
            Begun::Now(change) => change,
        };
        let mut lost_first = None;
        let mut losing = None;
        let mut pause = Duration::from_millis(1);
        // Inserts go on while values are written for the first time.
        let mut made = match effort {
            Effort::Metadata => self.build_alone(&build).await,
            Effort::Values(_) => build(change.dataset.clone()).await,
        };
        loop {
            match made {
                Ok(dataset) => return Ok(self.committed(dataset)),
                Err(error) if !is_outrun(&error) => return Err(error),
                Err(error) => {
                    if lost_first.is_some_and(|first: Instant| first.elapsed() > PATIENCE) {
                        return Err(error);
                    }
                }
            }
            let lost_first = *lost_first.get_or_insert_with(Instant::now);
            if losing.is_none() && lost_first.elapsed() > ALONE {
                losing = Some(self.tables().outrun().add(self.handle.place()));
            }
            made = self.build_alone(&build).await;
            if made.as_ref().is_err_and(is_outrun) {
                tokio::time::sleep(pause).await;
                pause = (2 * pause).min(LONGEST_PAUSE);
            }
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

    /// Makes no commit of this branch for so long, so that another process can make its own. A call during a
    /// pause lengthens it and does not wait.
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

    /// Builds a change on the newest version while nothing else of this process is committed.
    async fn build_alone<'a>(&self, build: &impl Fn(Arc<Dataset>) -> Built<'a>) -> Result<Dataset> {
        let built = async { build(self.changeable().await?).await };
        self.handle.commit_lock.commit(built).await
    }
}

/// Ends a pause, however its future ends.
struct Ending<'a>(&'a Mutex<Option<Instant>>);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        *self.0.lock() = None;
    }
}

/// Whether another commit came first.
pub(super) fn is_outrun(error: &Error) -> bool {
    error.code() == Code::ConcurrentModification
}
