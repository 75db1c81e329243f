//! The commit pipeline: what happens between Lance's request to commit a version and the manifest.
//!
//! [`Handler::run`] has all steps, in their order. Each step is in a file of its own. An operation runs a change that
//! ends in a commit with [`CommitLock::run`]: the [`CommitContext`] says what the steps have to know about the change,
//! and its [`Policy`] what they do. [`Attempts`] has the retries of changes that lose against other commits.

mod arguments;
mod branch_incarnation;
mod context;
mod first_version;
mod fsync;
mod fsync_failure;
mod lock;
mod manifest;
mod on_branch;
mod outcome;
mod policy;
mod request_stamp;
mod retry;
mod schema_check;
mod starvation;
#[cfg(test)]
mod test_handler;
mod view_state;
mod written_files;

use std::sync::Arc;

use async_trait::async_trait;
use futures::FutureExt;
use futures::stream::BoxStream;
use lance_io::object_store::ObjectStore;
use lance_table::format::{IndexMetadata, Manifest, Transaction as StoredTransaction};
use lance_table::io::commit::{
    CommitError, CommitHandler, ConditionalPutCommitHandler, ManifestLocation,
    ManifestNamingScheme, ManifestWriter, RenameCommitHandler,
};
use lance_table::transaction::Transaction;
use object_store::path::Path;
use tracing::{Instrument, info_span};

use crate::storage::fsync::{PendingFsync, SyncFn, to_disk};
use crate::storage::{Durability, path_on_disk, scheme};
use arguments::Commit;

pub(crate) use branch_incarnation::{Branches, Reference};
pub(crate) use context::CommitContext;
pub(crate) use lock::CommitLock;
pub(crate) use on_branch::OnBranch;
pub(crate) use outcome::{CommitOutcome, LastCommit, to_outcome};
pub(crate) use policy::{Policy, Stamps};
pub(crate) use request_stamp::{RequestStamp, find, unknown_request_outcome};
pub(crate) use retry::{Attempts, always_lost, is_conflict};
pub(crate) use schema_check::columns_changed;
pub(crate) use view_state::ViewState;

/// Commits the versions of a table, or of a branch of it.
#[derive(Debug, Clone)]
pub(crate) struct Handler {
    /// The branch on which the dataset was opened.
    branch: Option<Arc<OnBranch>>,
    /// Syncs files before the manifest; `None` if the store or the configuration needs no fsync.
    sync: Option<SyncFn>,
    /// Writes the manifest.
    manifest: Arc<dyn CommitHandler>,
}

impl Handler {
    /// All steps of a commit, in order.
    async fn run(&self, mut commit: Commit<'_>) -> Result<ManifestLocation, CommitError> {
        let context = CommitContext::current();

        // 1. First version: refuse to replace a table that another writer has created meanwhile.
        first_version::check(context.policy, commit.manifest.version, commit.base_path)?;

        // 2. Schema check: refuse rows that were written for other columns.
        schema_check::check(&context.written_for, &commit.manifest.schema)?;

        // 3. View state: a refresh records the versions of its sources, and is refused after another refresh.
        if let Some(state) = &context.view_state {
            state.write(commit.manifest)?;
        }

        // 4. Commit lock: while commits pause, a change waits before its first commit too.
        if let Some(lock) = &context.lock {
            lock.take_in_pause().await;
        }

        // 5. Request stamp: name the idempotent requests in the transaction.
        let stamped = request_stamp::stamp(&mut commit, &context.stamps)?;
        let attempted = outcome::Attempted::of(&commit);

        // 6. Commit outcome: from here on, cancelled work waits for the commit. If the change may stop waiting, the steps 7 to 9 run in a task that continues without it.
        // The task keeps the branch until its end. Nothing in it waits for the commit lock, so the deletion of a
        // branch, which waits for its commits, does not wait for the lock either.
        context.set_committing(true);
        let written =
            outcome::run_to_its_end(self, &context, commit, |handler, context, commit| {
                async move {
                    // 7. Branch check: refuse a commit on a deleted branch; a deletion waits for the end of the commit.
                    let _branch = match &handler.branch {
                        Some(branch) => {
                            Some(branch.begin_commit().await.map_err(on_branch::refused)?)
                        }
                        None => None,
                    };

                    // 8. Fsync: the files that the version names are on the disk before the manifest.
                    if let Some(sync) = handler.sync {
                        fsync::sync_files(sync, context, &commit)
                            .instrument(info_span!("fsync"))
                            .await?;
                    }

                    // 9. Manifest: write it, if no other commit has this version.
                    commit
                        .by(handler.manifest.as_ref())
                        .instrument(info_span!("write manifest"))
                        .await
                }
                .boxed()
            })
            .await;

        // 10. Commit outcome: a store may fail after it has written. Lance would not recognize the stamped transaction.
        let outcome = match (written, &stamped) {
            (Err(failure), Some(transaction)) => attempted.confirm(transaction, failure).await,
            (written, _) => written,
        };
        context.set_committing(false);

        // 11. Commit lock: after a lost commit, no other commit of this process comes before the next attempt. If the
        // change still loses, other processes are asked to pause.
        if let (Err(CommitError::CommitConflict), Some(lock)) = (&outcome, &context.lock) {
            lock.lost().await;
        }
        outcome
    }
}

/// The handler of the commits of a table at `location`, or of a branch of it; `None`: Lance's default, for a store that
/// joust does not know.
pub(crate) fn handler(
    durability: Durability,
    location: &str,
    branch: Option<Arc<OnBranch>>,
) -> Option<Arc<dyn CommitHandler>> {
    let sync = durability.syncs(location).then_some(to_disk as SyncFn);
    let manifest: Arc<dyn CommitHandler> = match scheme(location).as_ref() {
        // As Lance does on Windows, where directories cannot be synced.
        "file" if !cfg!(unix) => Arc::new(RenameCommitHandler),
        "file" => Arc::new(manifest::LocalCommit::new(sync)),
        "s3" | "gs" | "az" | "abfss" | "memory" => Arc::new(ConditionalPutCommitHandler),
        _ => return None,
    };
    Some(Arc::new(Handler {
        branch,
        sync,
        manifest,
    }))
}

/// Starts the fsync of the files of new rows, so that the commit does not have to. `base`: where the table, or
/// its branch, has its files; `version`: what the rows were written for.
pub(crate) fn start_fsync(base: &Path, rows: &Transaction, version: &Manifest) -> PendingFsync {
    PendingFsync::begin(path_on_disk(base), written_files::appended(rows, version))
}

#[async_trait]
impl CommitHandler for Handler {
    fn is_version_not_found_definitive(&self) -> bool {
        self.manifest.is_version_not_found_definitive()
    }

    fn propagate_commit_error_after_success(&self) -> bool {
        self.manifest.propagate_commit_error_after_success()
    }

    fn list_manifest_locations_since<'a>(
        &self,
        base_path: &Path,
        object_store: &'a ObjectStore,
        since_version: u64,
    ) -> BoxStream<'a, lance::Result<ManifestLocation>> {
        self.manifest
            .list_manifest_locations_since(base_path, object_store, since_version)
    }

    async fn commit(
        &self,
        manifest: &mut Manifest,
        indices: Option<Vec<IndexMetadata>>,
        base_path: &Path,
        object_store: &ObjectStore,
        manifest_writer: ManifestWriter,
        naming_scheme: ManifestNamingScheme,
        transaction: Option<StoredTransaction>,
    ) -> Result<ManifestLocation, CommitError> {
        let commit = Commit {
            manifest,
            indices,
            base_path,
            object_store,
            manifest_writer,
            naming_scheme,
            transaction,
        };
        self.run(commit).instrument(info_span!("commit")).await
    }
}
