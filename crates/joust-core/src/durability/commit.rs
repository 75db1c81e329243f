//! A commit that waits until the disk has what it names.

use std::future::Future;

use async_trait::async_trait;
use lance::Result;
use lance_table::io::commit::{CommitError, CommitHandler, ManifestLocation};

use super::around::{Around, Commit};
use super::disk::{Settling, SyncFn, VERSIONS, sync_apart, to_disk};
use super::local::{LocalCommit, local};
use super::written;

tokio::task_local! {
    static SETTLED: Vec<Settling>;
}

/// Does work whose commits name no new files but those that settle.
pub(super) fn settled<W: Future>(
    settling: Vec<Settling>,
    work: W,
) -> impl Future<Output = W::Output> {
    SETTLED.scope(settling, work)
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
        let base = local(commit.base_path);
        let written = written::files(
            commit.manifest,
            commit.indices.as_deref(),
            commit.transaction.clone(),
        )?;
        // A copied table and a branch begin at the version that they were copied from.
        let is_new = !base.join(VERSIONS).is_dir();
        Ok(sync_apart(base, written, is_new, self.sync).await?)
    }
}

async fn all(settling: &[Settling]) -> Result<()> {
    for one in settling {
        one.end().await?;
    }
    Ok(())
}

#[async_trait]
impl Around for SyncedCommit {
    fn inner(&self) -> &dyn CommitHandler {
        &self.inner
    }

    async fn around(
        &self,
        commit: Commit<'_>,
    ) -> std::result::Result<ManifestLocation, CommitError> {
        let synced = match SETTLED.try_with(Vec::clone) {
            Ok(settling) => all(&settling).await,
            Err(_) => self.sync(&commit).await,
        };
        synced.map_err(CommitError::OtherError)?;
        commit.by(self.inner()).await
    }
}

#[cfg(test)]
#[path = "commit_tests.rs"]
mod tests;
