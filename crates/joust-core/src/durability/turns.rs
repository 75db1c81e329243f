//! Turns of a table's commits.
//!
//! Lance commits by trying: whoever finds that another version was there first builds its own anew and
//! tries again, a little later. Appends, which are soon built and follow one another without a pause,
//! would so win for ever against an update or a compaction. Here a commit takes its turn before it
//! begins. A change, whose commit is the end of longer work, takes it once it has lost, and keeps it.

use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use lance_table::io::commit::{CommitError, CommitHandler, ManifestLocation};
use parking_lot::Mutex;
use tokio::sync::{Mutex as Lock, OwnedMutexGuard};

use super::around::{Around, Commit};

/// The turns of one table, in this process.
#[derive(Debug, Default)]
pub(crate) struct Turns(Arc<Lock<()>>);

struct Turn {
    of: Arc<Lock<()>>,
    /// A commit has lost: nobody else's comes between.
    kept: Mutex<Option<OwnedMutexGuard<()>>>,
}

tokio::task_local! {
    static TURN: Turn;
}

impl Turns {
    /// Does a commit while no other one of the table is done.
    pub async fn commit<C: Future>(&self, commit: C) -> C::Output {
        // The end of a change, which may have the turn.
        if TURN
            .try_with(|turn| Arc::ptr_eq(&turn.of, &self.0))
            .unwrap_or(false)
        {
            return commit.await;
        }
        let _turn = self.0.lock().await;
        commit.await
    }

    /// Does work that ends in a commit. When that has lost against another, the others wait until the
    /// work has ended.
    pub async fn change<W: Future>(&self, work: W) -> W::Output {
        let turn = Turn {
            of: self.0.clone(),
            kept: Mutex::default(),
        };
        TURN.scope(turn, work).await
    }
}

/// Takes the turn for a change whose commit, made by another handler, has lost.
#[derive(Debug)]
pub(super) struct CommitInTurn(pub Arc<dyn CommitHandler>);

#[async_trait]
impl Around for CommitInTurn {
    fn inner(&self) -> &dyn CommitHandler {
        self.0.as_ref()
    }

    async fn around(&self, commit: Commit<'_>) -> Result<ManifestLocation, CommitError> {
        let committed = commit.by(self.inner()).await;
        if matches!(committed, Err(CommitError::CommitConflict))
            && let Ok(Some(turns)) =
                TURN.try_with(|turn| turn.kept.lock().is_none().then(|| turn.of.clone()))
        {
            let turn = turns.lock_owned().await;
            let _ = TURN.try_with(|own| *own.kept.lock() = Some(turn));
        }
        committed
    }
}

#[cfg(test)]
#[path = "turns_tests.rs"]
mod tests;
