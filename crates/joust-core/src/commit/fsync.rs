//! A commit that waits until the disk has what it names.

use std::future::Future;

use async_trait::async_trait;
use lance::Result;
use lance_table::io::commit::{CommitError, CommitHandler, ManifestLocation};

use super::layer::{Commit, CommitLayer};
use super::manifest::LocalCommit;
use super::written_files;
use crate::storage::fsync::{PendingFsync, SyncFn, VERSIONS, sync_apart, to_disk};
use crate::storage::path_on_disk;

tokio::task_local! {
    static PENDING: Vec<PendingFsync>;
}

/// Does work whose commits name no new files but those that settle.
pub(super) fn after_fsync<W: Future>(
    pending: Vec<PendingFsync>,
    work: W,
) -> impl Future<Output = W::Output> {
    PENDING.scope(pending, work)
}

/// A commit on a local disk, after a sync of the files that the new version names.
#[derive(Debug)]
pub(super) struct SyncedCommit {
    inner: LocalCommit,
    sync: SyncFn,
}

impl SyncedCommit {
    pub fn new() -> Self {
        Self {
            inner: LocalCommit::new(Some(to_disk)),
            sync: to_disk,
        }
    }

    /// Syncs whatever the new version may name.
    async fn sync(&self, commit: &Commit<'_>) -> Result<()> {
        let base = path_on_disk(commit.base_path);
        let written = written_files::files(
            commit.manifest,
            commit.indices.as_deref(),
            commit.transaction.clone(),
        )?;
        // A copied table and a branch begin at the version that they were copied from.
        let is_new = !base.join(VERSIONS).is_dir();
        Ok(sync_apart(base, written, is_new, self.sync).await?)
    }
}

async fn all(pending: &[PendingFsync]) -> Result<()> {
    for one in pending {
        one.end().await?;
    }
    Ok(())
}

#[async_trait]
impl CommitLayer for SyncedCommit {
    fn inner(&self) -> &dyn CommitHandler {
        &self.inner
    }

    async fn run(&self, commit: Commit<'_>) -> std::result::Result<ManifestLocation, CommitError> {
        let synced = match PENDING.try_with(Vec::clone) {
            Ok(pending) => all(&pending).await,
            Err(_) => self.sync(&commit).await,
        };
        synced.map_err(CommitError::OtherError)?;
        commit.by(self.inner()).await
    }
}

#[cfg(test)]
#[path = "fsync_tests.rs"]
mod tests;
