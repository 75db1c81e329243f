//! Commits of changed columns, and of their metadata.
//!
//! Such a commit replaces the list of the table's fragments, or its schema, so Lance refuses it when any row was
//! added since the version that it was built on, and leaves it to the caller to try again. Here the change waits
//! for its turn among updates and deletes, and is built again on the newest version until it is committed. The
//! second attempt and later ones are built while no other commit of this process is made. A change that still
//! loses, to other processes, is [told of](super::outrun), so that those can pause.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use lance::Dataset;

use super::Table;
use super::turn::Begun;
use crate::error::{Code, Error, Result};

/// How long a change is tried again; as long as Lance tries updates and deletes again.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// How long a change loses before others are asked to pause.
const ALONE: Duration = Duration::from_millis(500);
/// The longest pause after an attempt, in which another process ends its own commit.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// What a change of the schema does besides its commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort<'a> {
    /// It writes no values.
    Metadata,
    /// It reads rows and may write values of all of them, which this SQL computes.
    Values(&'a [&'a str]),
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
        let give_up = Instant::now() + PATIENCE;
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
                Err(error) if is_outrun(&error) && Instant::now() < give_up => {}
                Err(error) => return Err(error),
            }
            let lost_first = *lost_first.get_or_insert_with(Instant::now);
            if losing.is_none() && lost_first.elapsed() > ALONE {
                losing = Some(self.engine().outrun().add(self.handle.place()));
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
            Effort::Values(computes) => self.begin_change(0, computes).await,
            Effort::Metadata => Ok(Begun::Now(self.begin_without_memory().await?)),
        }
    }

    /// Makes no commit of this branch for so long, so that another process can make its own.
    pub async fn pause_commits(&self, time: Duration) {
        self.handle.turns.commit(tokio::time::sleep(time)).await;
    }

    /// Builds a change on the newest version while nothing else of this process is committed.
    async fn build_alone<'a>(&self, build: &impl Fn(Arc<Dataset>) -> Built<'a>) -> Result<Dataset> {
        let built = async { build(self.changeable().await?).await };
        self.handle.turns.commit(built).await
    }
}

/// Whether another commit came first.
pub(super) fn is_outrun(error: &Error) -> bool {
    error.code() == Code::ConcurrentModification
}
