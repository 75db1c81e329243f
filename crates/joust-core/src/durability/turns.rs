//! Turns of a table's commits.
//!
//! Lance commits by trying: whoever finds that another version was there first builds its own anew and
//! tries again, a little later. Appends, which are soon built and follow one another without a pause,
//! would so win for ever against an update or a compaction. Here a commit takes its turn before it
//! begins. A change, whose commit is the end of longer work, takes it once it has lost, and keeps it.

use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use lance_io::object_store::ObjectStore;
use lance_table::format::{IndexMetadata, Manifest, Transaction};
use lance_table::io::commit::{
    CommitError, CommitHandler, ManifestLocation, ManifestNamingScheme, ManifestWriter,
};
use object_store::path::Path;
use parking_lot::Mutex;
use tokio::sync::{Mutex as Lock, OwnedMutexGuard};

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
impl CommitHandler for CommitInTurn {
    fn is_version_not_found_definitive(&self) -> bool {
        self.0.is_version_not_found_definitive()
    }

    fn propagate_commit_error_after_success(&self) -> bool {
        self.0.propagate_commit_error_after_success()
    }

    async fn commit(
        &self,
        manifest: &mut Manifest,
        indices: Option<Vec<IndexMetadata>>,
        base_path: &Path,
        object_store: &ObjectStore,
        manifest_writer: ManifestWriter,
        naming_scheme: ManifestNamingScheme,
        transaction: Option<Transaction>,
    ) -> Result<ManifestLocation, CommitError> {
        let committed = self
            .0
            .commit(
                manifest,
                indices,
                base_path,
                object_store,
                manifest_writer,
                naming_scheme,
                transaction,
            )
            .await;
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
