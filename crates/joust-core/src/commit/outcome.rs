//! The outcome of a change: committed, failed or unknown.
//!
//! Lance retries a change that has lost against another commit until a timeout. The timeout may abandon a commit whose
//! manifest is written nevertheless. Lance then reports a conflict with other writers, which is a guess. If the
//! [policy](super::policy::Outcome) of a change says so, each of its commits runs in a separate task here, which
//! continues when the change no longer waits for it. After a failed change, joust reads the version that the change
//! tried to commit last, and then reports the outcome: a write that committed is never reported as failed.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use lance_io::object_store::ObjectStore;
use lance_io::utils::read_message;
use lance_table::format::{Manifest, Transaction, pb};
use lance_table::io::commit::{CommitError, ManifestLocation};
use lance_table::io::manifest::read_manifest;
use object_store::ObjectStoreExt;
use object_store::path::Path;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tracing::Instrument;

use super::Handler;
use super::arguments::Commit;
use super::context::CommitContext;
use super::fsync_failure::is_fsync_failure;

/// How often a failed commit's version is read before its outcome counts as unknown.
const ATTEMPTS: u32 = 3;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(100);

/// A change that took effect.
#[derive(Debug)]
pub(crate) enum CommitOutcome<T> {
    /// Lance reported the result.
    Reported(T),
    /// Lance abandoned the change, and its commit was found as this version.
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

/// Runs a change in the [context](CommitContext) of a policy that follows its commits. Fails only if the change
/// certainly took no effect, or with an error that says that the outcome is unknown.
pub(crate) async fn to_outcome<T>(
    change: impl Future<Output = lance::Result<T>>,
) -> lance::Result<CommitOutcome<T>> {
    let failure = match change.await {
        Ok(reported) => return Ok(CommitOutcome::Reported(reported)),
        Err(failure) => failure,
    };
    let context = CommitContext::current();
    match context.last.as_ref().and_then(LastCommit::take) {
        Some(tried) => Ok(CommitOutcome::Confirmed(tried.version_made(failure).await?)),
        None => Err(failure),
    }
}

/// The last commit of a change whose future may be dropped during the commit: the commit continues by itself.
#[derive(Clone, Default)]
pub(crate) struct LastCommit(Arc<Mutex<Option<Tried>>>);

impl LastCommit {
    fn take(&self) -> Option<Tried> {
        self.0.lock().take()
    }

    /// Whether the change took effect, or may have, although it failed or its future was dropped. Waits for the end
    /// of a commit under way.
    pub(crate) async fn may_have_committed(&self) -> bool {
        let Some(tried) = self.take() else {
            return false;
        };
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
        confirm(&self.store, path, self.version, is_own, failure).await?;
        Ok(self.version)
    }
}

/// Writes the version of a commit.
pub(super) type Write = for<'a> fn(
    &'a Handler,
    &'a CommitContext,
    Commit<'a>,
) -> BoxFuture<'a, Result<ManifestLocation, CommitError>>;

/// Runs the steps that write a version. If the policy of the change follows its commits, they run in a task that
/// continues when the change no longer waits for it.
pub(super) async fn run_to_its_end(
    handler: &Handler,
    context: &Arc<CommitContext>,
    commit: Commit<'_>,
    write: Write,
) -> Result<ManifestLocation, CommitError> {
    let Some(last) = &context.last else {
        return write(handler, context, commit).await;
    };
    let path = commit.path();
    let Commit {
        manifest,
        indices,
        base_path,
        object_store,
        manifest_writer,
        naming_scheme,
        transaction,
    } = commit;
    let (sender, receiver) = oneshot::channel();
    let under_way = tokio::spawn({
        let (handler, context) = (handler.clone(), context.clone());
        let (base, store) = (base_path.clone(), object_store.clone());
        let (mut manifest, transaction) = (manifest.clone(), transaction.clone());
        let work = async move {
            let commit = Commit {
                manifest: &mut manifest,
                indices,
                base_path: &base,
                object_store: &store,
                manifest_writer,
                naming_scheme,
                transaction,
            };
            let committed = write(&handler, &context, commit).await;
            // If the change no longer waits, it reads the outcome.
            let _ = sender.send((manifest, committed));
        };
        work.in_current_span()
    });
    *last.0.lock() = Some(Tried {
        under_way,
        store: object_store.clone(),
        path,
        version: manifest.version,
        transaction,
        transaction_file: manifest.transaction_file.clone(),
    });
    match receiver.await {
        Ok((written, committed)) => {
            *manifest = written;
            committed
        }
        Err(gone) => Err(CommitError::OtherError(lance::Error::external(Box::new(
            gone,
        )))),
    }
}

/// Whether a commit that failed after it was stamped took effect.
pub(super) struct Attempted<'a> {
    store: &'a ObjectStore,
    path: Path,
    version: u64,
}

impl<'a> Attempted<'a> {
    pub fn of(commit: &Commit<'a>) -> Self {
        Self {
            store: commit.object_store,
            path: commit.path(),
            version: commit.manifest.version,
        }
    }

    /// The version of the commit if it exists with this transaction; else the failure.
    pub async fn confirm(
        self,
        transaction: &Transaction,
        failure: CommitError,
    ) -> Result<ManifestLocation, CommitError> {
        let is_own =
            |_: &Manifest, found: Option<&pb::Transaction>| found == Some(&transaction.inner);
        confirm(self.store, self.path, self.version, is_own, failure).await
    }
}

/// Whether a commit that seems to have failed took effect: a store may fail after it has written. Lance checks
/// that too, but does not recognize its transaction with the stamps on it, so it would commit a second time.
/// `is_own`: whether a manifest, with its transaction, belongs to the commit.
pub(super) async fn confirm(
    store: &ObjectStore,
    path: Path,
    version: u64,
    is_own: impl Fn(&Manifest, Option<&pb::Transaction>) -> bool,
    error: CommitError,
) -> Result<ManifestLocation, CommitError> {
    if is_fsync_failure(&error) {
        return Err(error);
    }
    let mut failure = None;
    for _ in 0..ATTEMPTS {
        match location(store, &path, version).await {
            Ok(None) => return Err(error),
            Ok(Some(location)) => match transaction_of(store, &location).await {
                Ok((manifest, found)) if is_own(&manifest, found.as_ref()) => return Ok(location),
                Ok(_) => return Err(error),
                Err(cause) => failure = Some(cause),
            },
            Err(cause) => failure = Some(cause),
        }
        tokio::time::sleep(BETWEEN_ATTEMPTS).await;
    }
    let Some(cause) = failure else {
        return Err(error);
    };
    let unknown = lance::Error::commit_status_unknown_source(version, Box::new(cause));
    Err(CommitError::OtherError(unknown))
}

async fn location(
    store: &ObjectStore,
    path: &Path,
    version: u64,
) -> lance::Result<Option<ManifestLocation>> {
    match store.inner.head(path).await {
        Ok(found) => Ok(Some(ManifestLocation {
            version,
            ..found.try_into()?
        })),
        Err(object_store::Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A version's manifest and transaction, read without caches: Lance caches transactions without their stamps.
pub(super) async fn transaction_of(
    store: &ObjectStore,
    location: &ManifestLocation,
) -> lance::Result<(Manifest, Option<pb::Transaction>)> {
    let manifest = read_manifest(store, &location.path, location.size).await?;
    let Some(position) = manifest.transaction_section else {
        return Ok((manifest, None));
    };
    let reader = store.open(&location.path).await?;
    let transaction = read_message(reader.as_ref(), position).await?;
    Ok((manifest, Some(transaction)))
}

#[cfg(test)]
#[path = "outcome_tests.rs"]
mod tests;
