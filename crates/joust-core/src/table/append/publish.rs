//! The commit of a group.
//!
//! Where a commit of all fails, each upload's files are committed alone, with one exception: when it is
//! not known whether a commit took place, nothing is tried again, since that could store rows twice.

use std::sync::Arc;

use lance::Dataset;
use lance::dataset::CommitBuilder;
use lance::dataset::transaction::Transaction;
use tokio::task::JoinHandle;

use super::queue::{Rows, Waiting};
use crate::commit::{after_fsync, columns_changed, stamped, written_for};
use crate::error::{Code, Error};
use crate::storage::{LocalWriter, fsync::PendingFsync};
use crate::table::Table;
use crate::table::multipart::{is_version_gone, version_gone};
use crate::table::stage::refused;

/// Files that hold the rows of some uploads and that no version names yet.
pub(super) struct Staged {
    pub transaction: Transaction,
    /// The version that they were written for.
    pub version: Arc<Dataset>,
    /// Its files on their way to the disk; `None` where nobody has to wait for that.
    pub pending_fsync: Option<PendingFsync>,
    pub uploads: Vec<Waiting>,
}

/// What is to be one commit.
pub(super) struct Group {
    /// The version that the files were written for.
    pub version: Arc<Dataset>,
    pub staged: Vec<Staged>,
}

/// The commits of a table's groups, one after the other.
#[derive(Default)]
pub(super) struct Publishing {
    /// What the last commit that has ended made, if it went well.
    last: Option<Arc<Dataset>>,
    current: Option<JoinHandle<Option<Arc<Dataset>>>>,
}

impl Publishing {
    /// Waits until no commit is under way. Who ceases to wait may do so again.
    pub async fn end(&mut self) {
        if let Some(current) = &mut self.current {
            // Its clients are told of a panic by the end of their answers.
            self.last = current.await.ok().flatten();
            self.current = None;
        }
    }

    /// Begins to commit a group, after the [end](Self::end) of the one before it.
    pub fn begin(&mut self, table: &Table, group: Group) {
        let last = self.last.take();
        self.current = Some(table.spawn(publish(table.clone(), group, last)));
    }
}

/// Commits a group and tells its clients; the new version, if it is one. `last`: the version that the group
/// before this one became.
async fn publish(table: Table, group: Group, last: Option<Arc<Dataset>>) -> Option<Arc<Dataset>> {
    let Group {
        mut version,
        mut staged,
    } = group;
    // Only rows were added since: what was written for one version was written for the other.
    if let Some(last) = last
        && last.version_id() == version.version_id() + 1
        // Not one of a branch that was deleted meanwhile and had this one's name.
        && Arc::ptr_eq(&last.session(), &version.session())
    {
        let transactions = staged.iter_mut().map(|one| &mut one.transaction);
        transactions
            .filter(|transaction| transaction.read_version == version.version_id())
            .for_each(|transaction| transaction.read_version = last.version_id());
        version = last;
    }
    if staged.len() > 1 {
        match commit(&table, version.clone(), &staged).await {
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
        match commit(&table, version.clone(), std::slice::from_ref(&one)).await {
            Ok(committed) => {
                one.written(&committed);
                made = Some(committed);
            }
            Err(error) if columns_changed(&error) => again(&table, one.uploads),
            // Only an upload that wrote files of its own can have taken so long.
            Err(error) if is_version_gone(&error) => refuse(one.uploads, &version_gone()),
            Err(error) => refuse(one.uploads, &refused(error)),
        }
    }
    made
}

/// Makes all of the files part of the table's next version.
async fn commit(
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
    let versions = staged.iter().map(|one| one.version.clone()).collect();
    let commit = written_for(versions, stamped(stamps, commit));
    let commit = after_fsync(pending.collect(), commit);
    let committed = table.handle.commit_lock.commit(commit).await?.dataset;
    let committed = files.committed(committed);
    table.committed(committed.clone());
    Ok(Arc::new(committed))
}

/// Has rows written again for the columns that the table has by now. Those that were not kept in memory are
/// the client's to send again.
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

/// Whether the disk has not taken the files of some: then nothing was committed for that reason, and those
/// alone fail.
async fn is_broken(staged: &[Staged]) -> bool {
    for pending in staged.iter().filter_map(|one| one.pending_fsync.as_ref()) {
        if pending.end().await.is_err() {
            return true;
        }
    }
    false
}

/// Whether it is certain that nothing was committed, and that the cause may be one of many.
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
#[path = "publish_tests.rs"]
mod tests;
