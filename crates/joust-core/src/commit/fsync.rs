//! The commit layer that syncs the files of a version before its manifest is written.

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

/// Runs work whose commits name no new files except those whose fsync is pending.
pub(super) fn after_fsync<W: Future>(
    pending: Vec<PendingFsync>,
    work: W,
) -> impl Future<Output = W::Output> {
    PENDING.scope(pending, work)
}

/// Commits on a local disk: syncs the files that the new version names, then writes the manifest.
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

    /// Syncs all files that the new version may name.
    async fn sync(&self, commit: &Commit<'_>) -> Result<()> {
        let base = path_on_disk(commit.base_path);
        let written = written_files::files(
            commit.manifest,
            commit.indices.as_deref(),
            commit.transaction.clone(),
        )?;
        // A cloned table and a branch start at the version number of their source.
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
