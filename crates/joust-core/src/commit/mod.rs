//! The commit pipeline: what happens between Lance's request to commit a version and the manifest.
//!
//! [`handler`] puts the layers together and shows their order. Each layer is a [`CommitLayer`](layer::CommitLayer)
//! in a file of its own.

mod branch_incarnation;
mod fsync;
mod fsync_failure;
mod layer;
mod lock;
mod manifest;
mod on_branch;
mod outcome;

mod request_stamp;
mod schema_check;
mod written_files;

use std::future::Future;
use std::sync::Arc;

use lance_table::format::Manifest;
use lance_table::io::commit::{CommitHandler, ConditionalPutCommitHandler};
use lance_table::transaction::Transaction;
use object_store::path::Path;

use crate::storage::fsync::PendingFsync;
use crate::storage::{Durability, path_on_disk, scheme};

pub(crate) use branch_incarnation::{Branches, Reference};
use layer::Layered;
pub(crate) use lock::CommitLock;
use on_branch::BranchCheck;
pub(crate) use on_branch::OnBranch;
pub(crate) use outcome::{CommitOutcome, LastCommit, to_outcome};
pub(crate) use request_stamp::{RequestStamp, find, stamped, versions_gone};
pub(crate) use schema_check::{columns_changed, written_for};

/// How versions of a table at `location`, or of a branch of it, are committed; `None`: Lance's own handler.
///
/// From the outside in: compare the schemas, take the commit lock where a change has lost before, stamp the
/// transaction with the request, find out the outcome, check that the branch exists, sync the files that the
/// version names, write the manifest.
pub(crate) fn handler(
    durability: Durability,
    location: &str,
    branch: Option<Arc<OnBranch>>,
) -> Option<Arc<dyn CommitHandler>> {
    let inner: Arc<dyn CommitHandler> = match scheme(location).as_ref() {
        // Windows commits by rename and cannot sync directories: Lance's own handler does that.
        "file" if !cfg!(unix) => return None,
        "file" if durability.syncs(location) => Arc::new(Layered(fsync::SyncedCommit::new())),
        "file" => Arc::new(manifest::LocalCommit::new(None)),
        "s3" | "gs" | "az" | "abfss" | "memory" => Arc::new(ConditionalPutCommitHandler),
        _ => return None,
    };
    // Nothing in here waits for the commit lock, so the deletion of a branch does not wait for it either.
    let checked = match branch {
        Some(branch) => Arc::new(Layered(BranchCheck { branch, inner })),
        None => inner,
    };
    // Outside of the branch check: the branch exists for as long as the commit runs. Inside of the stamp: it
    // has to know the transaction as it is written.
    let finished = Arc::new(Layered(outcome::OutcomeLayer(checked)));
    let stamped = Arc::new(Layered(request_stamp::StampLayer(finished)));
    let locked = Arc::new(Layered(lock::LockLayer(stamped)));
    Some(Arc::new(Layered(schema_check::SchemaCheck(locked))))
}

/// Starts the fsync of the files of new rows, so that the commit does not have to. `base`: where the table, or
/// its branch, has its files; `version`: what the rows were written for.
pub(crate) fn start_fsync(base: &Path, rows: &Transaction, version: &Manifest) -> PendingFsync {
    PendingFsync::begin(path_on_disk(base), written_files::appended(rows, version))
}

/// Commits rows after the [fsync](start_fsync) of all their files, where that is needed.
pub(crate) fn after_fsync<W: Future>(
    pending: Vec<PendingFsync>,
    commit: W,
) -> impl Future<Output = W::Output> {
    fsync::after_fsync(pending, commit)
}
