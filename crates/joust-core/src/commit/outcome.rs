//! The outcome of a change: committed, failed or unknown.
//!
//! Lance retries a change that has lost against another commit, and gives up when its time is over, even in the
//! middle of a commit whose manifest is written all the same. It then reports a conflict with other writers,
//! which is a guess. Here each commit of a change runs in a task of its own, which continues when the change no
//! longer waits for it. After a failed change the version that it tried to commit last is read before the
//! outcome is reported: a write that committed is never reported as failed.

use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use lance_io::object_store::ObjectStore;
use lance_table::format::{Manifest, Transaction, pb};
use lance_table::io::commit::{CommitError, CommitHandler, ManifestLocation};
use object_store::path::Path;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::layer::{Commit, CommitLayer};
use super::request_stamp::outcome;

/// A change that took effect.
#[derive(Debug)]
pub(crate) enum CommitOutcome<T> {
    /// Lance reported the result.
    Reported(T),
    /// Lance gave up, and the commit was found as this version.
    Confirmed(u64),
}

/// The last commit that a change attempted.
struct Tried {
    under_way: JoinHandle<()>,
    store: ObjectStore,
    path: Path,
    version: u64,
    transaction: Option<Transaction>,
    transaction_file: Option<String>,
}

tokio::task_local! {
    static LAST: Arc<Mutex<Option<Tried>>>;
}

/// Runs a change. Fails only if the change certainly took no effect, or with an error that says that the outcome
/// is unknown.
pub(crate) async fn to_outcome<T>(
    change: impl Future<Output = lance::Result<T>>,
) -> lance::Result<CommitOutcome<T>> {
    let last = Arc::<Mutex<Option<Tried>>>::default();
    let failure = match LAST.scope(last.clone(), change).await {
        Ok(told) => return Ok(CommitOutcome::Reported(told)),
        Err(failure) => failure,
    };
    let tried = last.lock().take();
    match tried {
        Some(tried) => Ok(CommitOutcome::Confirmed(tried.version_made(failure).await?)),
        None => Err(failure),
    }
}

/// The last commit of a change whose future may be dropped during the commit: the commit continues by itself.
#[derive(Clone, Default)]
pub(crate) struct LastCommit(Arc<Mutex<Option<Tried>>>);

impl LastCommit {
    /// Runs a change and remembers the last commit that it attempts.
    pub(crate) async fn run<T>(&self, change: impl Future<Output = T>) -> T {
        LAST.scope(self.0.clone(), change).await
    }

    /// Whether the change took effect, or may have, although it failed or its future was dropped. Waits for the end
    /// of a commit under way.
    pub(crate) async fn may_have_committed(&self) -> bool {
        let tried = self.0.lock().take();
        let Some(tried) = tried else { return false };
        let failure = lance::Error::internal("the change did not wait for its commit");
        match tried.version_made(failure).await {
            Ok(_) => true,
            Err(error) => error.is_commit_status_unknown(),
        }
    }
}

impl Tried {
    async fn version_made(self, failure: lance::Error) -> lance::Result<u64> {
        // A panic of the task ends it too.
        let _ = self.under_way.await;
        let is_own = |manifest: &Manifest, transaction: Option<&pb::Transaction>| {
            match (&self.transaction, transaction) {
                (Some(own), found) => found == Some(&own.inner),
                // A transaction that is too long for the manifest has a file of its own.
                (None, _) => {
                    self.transaction_file.is_some()
                        && manifest.transaction_file == self.transaction_file
                }
            }
        };
        let (path, failure) = (self.path.clone(), CommitError::OtherError(failure));
        outcome(&self.store, path, self.version, is_own, failure).await?;
        Ok(self.version)
    }
}

/// Lets a commit continue when its change no longer waits for it.
#[derive(Debug)]
pub(super) struct OutcomeLayer(pub Arc<dyn CommitHandler>);

#[async_trait]
impl CommitLayer for OutcomeLayer {
    fn inner(&self) -> &dyn CommitHandler {
        self.0.as_ref()
    }

    async fn run(&self, commit: Commit<'_>) -> Result<ManifestLocation, CommitError> {
        let Ok(last) = LAST.try_with(Arc::clone) else {
            return commit.by(self.inner()).await;
        };
        let Commit {
            manifest,
            indices,
            base_path,
            object_store,
            manifest_writer,
            naming_scheme,
            transaction,
        } = commit;
        let version = manifest.version;
        let path = naming_scheme.manifest_path(base_path, version);
        let (tell, told) = oneshot::channel();
        let under_way = tokio::spawn({
            let handler = self.0.clone();
            let (base, store) = (base_path.clone(), object_store.clone());
            let (mut manifest, transaction) = (manifest.clone(), transaction.clone());
            async move {
                let commit = Commit {
                    manifest: &mut manifest,
                    indices,
                    base_path: &base,
                    object_store: &store,
                    manifest_writer,
                    naming_scheme,
                    transaction,
                };
                let committed = commit.by(handler.as_ref()).await;
                // If the change no longer waits, it reads the outcome.
                let _ = tell.send((manifest, committed));
            }
        });
        *last.lock() = Some(Tried {
            under_way,
            store: object_store.clone(),
            path,
            version,
            transaction,
            transaction_file: manifest.transaction_file.clone(),
        });
        match told.await {
            Ok((written, committed)) => {
                *manifest = written;
                committed
            }
            Err(gone) => Err(CommitError::OtherError(lance::Error::external(Box::new(
                gone,
            )))),
        }
    }
}

#[cfg(test)]
#[path = "outcome_tests.rs"]
mod tests;
