//! The commit of a group.
//!
//! If the commit of the group fails, joust commits each set of files alone: uploads of one schema share a set. Exception:
//! if the outcome of the commit is unknown, joust does not retry, because a retry could store rows twice.

use std::sync::Arc;

use lance::Dataset;
use lance::dataset::CommitBuilder;
use lance::dataset::transaction::Transaction;
use tokio::task::JoinHandle;

use super::queue::{Rows, Waiting};
use crate::commit::{CommitContext, Policy, columns_changed};
use crate::error::{Code, Error};
use crate::storage::{LocalWriter, fsync::PendingFsync};
use crate::table::Table;
use crate::table::multipart::{is_version_gone, version_gone};
use crate::table::stage::refused;

/// Files with the rows of some uploads that no version references yet.
pub(super) struct Staged {
    pub transaction: Transaction,
    /// The version for which they were written.
    pub version: Arc<Dataset>,
    /// The fsync of its files; `None` if no fsync is needed.
    pub pending_fsync: Option<PendingFsync>,
    pub uploads: Vec<Waiting>,
}

/// The content of one commit.
pub(super) struct Group {
    /// The version for which the files were written.
    pub version: Arc<Dataset>,
    pub staged: Vec<Staged>,
}

/// The commits of a table's groups, in sequence.
#[derive(Default)]
pub(super) struct GroupCommits {
    /// The version of the last finished commit, if it succeeded.
    last: Option<Arc<Dataset>>,
    current: Option<JoinHandle<Option<Arc<Dataset>>>>,
}

impl GroupCommits {
    /// Waits until no commit is running. Cancel-safe.
    pub async fn end(&mut self) {
        if let Some(current) = &mut self.current {
            // A panic drops the answers of its clients, which reports it.
            self.last = current.await.ok().flatten();
            self.current = None;
        }
    }

    /// Starts the commit of a group, after the [end](Self::end) of the previous one.
    pub fn begin(&mut self, table: &Table, group: Group) {
        let last = self.last.take();
        self.current = Some(table.spawn(commit_group(table.clone(), group, last)));
    }
}

/// Commits a group and answers its clients. Returns the new version on success. `last`: the version of the previous
/// group.
async fn commit_group(
    table: Table,
    group: Group,
    last: Option<Arc<Dataset>>,
) -> Option<Arc<Dataset>> {
    let Group {
        mut version,
        mut staged,
    } = group;
    // Only rows were added since: files for one version are valid for the other.
    if let Some(last) = last
        && last.version_id() == version.version_id() + 1
        // Not the version of a deleted branch of the same name.
        && Arc::ptr_eq(&last.session(), &version.session())
    {
        let transactions = staged.iter_mut().map(|one| &mut one.transaction);
        transactions
            .filter(|transaction| transaction.read_version == version.version_id())
            .for_each(|transaction| transaction.read_version = last.version_id());
        version = last;
    }
    if staged.len() > 1 {
        match commit_files(&table, version.clone(), &staged).await {
            Ok(committed) => {
                staged.into_iter().for_each(|one| one.written(&committed));
                return Some(committed);
            }
            Err(error) if !may_try_alone(&error) && !is_broken(&staged).await => {
                let error = Error::from(error);
                staged
                    .into_iter()
                    .for_each(|one| refuse(one.uploads, &error));
                return None;
            }
            Err(_) => {}
        }
    }
    let mut made = None;
    for one in staged {
        match commit_files(&table, version.clone(), std::slice::from_ref(&one)).await {
            Ok(committed) => {
                one.written(&committed);
                made = Some(committed);
            }
            Err(error) if columns_changed(&error) => again(&table, one.uploads),
            // Only an upload that wrote its own files can take this long.
            Err(error) if is_version_gone(&error) => refuse(one.uploads, &version_gone()),
            Err(error) => refuse(one.uploads, &refused(error)),
        }
    }
    made
}

/// Commits all files as the next version of the table.
async fn commit_files(
    table: &Table,
    version: Arc<Dataset>,
    staged: &[Staged],
) -> lance::Result<Arc<Dataset>> {
    let transactions = staged.iter().map(|one| one.transaction.clone()).collect();
    let uploads = staged.iter().flat_map(|one| &one.uploads);
    let stamps = uploads.filter_map(|upload| upload.stamp.clone()).collect();
    let files = LocalWriter::of(version, table.durability()).await?;
    let commit = CommitBuilder::new(files.version.clone())
        .with_skip_auto_cleanup(true)
        .execute_batch(transactions);
    let pending = staged.iter().filter_map(|one| one.pending_fsync.clone());
    let versions = staged.iter().map(|one| one.version.clone());
    let context = CommitContext::new(Policy::Append)
        .stamped(stamps)
        .written_for(versions.collect())
        .pending_fsync(pending.collect());
    let committed = table.commit_in(context, commit).await?.dataset;
    let committed = files.committed(committed);
    table.committed(committed.clone());
    Ok(Arc::new(committed))
}

/// Rewrites rows for the current schema. Rows that are no longer in memory are rejected: the client must send them
/// again.
fn again(table: &Table, uploads: Vec<Waiting>) {
    let (kept, gone): (Vec<_>, Vec<_>) = uploads
        .into_iter()
        .partition(|upload| matches!(upload.rows, Rows::Gathered { .. }));
    refuse(gone, &columns_are_others());
    table.handle.appends.take_back(kept);
}

fn columns_are_others() -> Error {
    Error::new(
        Code::ConcurrentModification,
        "the table's columns have changed since the rows were written: send them again",
    )
}

/// Whether the fsync of some files failed. In that case nothing was committed for this reason, and only those uploads
/// fail.
async fn is_broken(staged: &[Staged]) -> bool {
    for pending in staged.iter().filter_map(|one| one.pending_fsync.as_ref()) {
        if pending.end().await.is_err() {
            return true;
        }
    }
    false
}

/// Whether it is certain that nothing was committed, and a single upload may be the cause.
fn may_try_alone(error: &lance::Error) -> bool {
    use lance::Error as L;
    is_version_gone(error)
        || columns_changed(error)
        || matches!(
            error,
            L::CommitConflict { .. }
                | L::RetryableCommitConflict { .. }
                | L::IncompatibleTransaction { .. }
                | L::TooMuchWriteContention { .. }
                | L::InvalidInput { .. }
                | L::NotSupported { .. }
                | L::SchemaMismatch { .. }
                | L::Schema { .. }
        )
}

impl Staged {
    fn written(self, version: &Dataset) {
        for upload in self.uploads {
            upload.written(version.version_id());
        }
    }
}

pub(super) fn refuse(uploads: Vec<Waiting>, error: &Error) {
    for upload in uploads {
        upload.refused(error.clone());
    }
}

#[cfg(test)]
#[path = "group_commit_tests.rs"]
mod tests;
