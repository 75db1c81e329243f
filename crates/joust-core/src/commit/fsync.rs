//! The fsync of the files that a version names, before its manifest is written.

use lance::Result;

use super::arguments::Commit;
use super::context::CommitContext;
use super::policy::Fsync;
use super::written_files;
use crate::storage::fsync::{SyncFn, VERSIONS, sync_apart};
use crate::storage::path_on_disk;

/// Syncs all files that the new version may name, or waits for those that were synced as they were staged.
pub(super) async fn sync_files(
    sync: SyncFn,
    context: &CommitContext,
    commit: &Commit<'_>,
) -> Result<()> {
    match context.policy.terms().fsync {
        Fsync::Staged => {
            for pending in &context.pending_fsync {
                pending.end().await?;
            }
        }
        Fsync::InCommit => {
            let base = path_on_disk(commit.base_path);
            let written = written_files::files(
                commit.manifest,
                commit.indices.as_deref(),
                commit.transaction.clone(),
            )?;
            // A cloned table and a branch start at the version number of their source.
            let is_new = !base.join(VERSIONS).is_dir();
            sync_apart(base, written, is_new, sync).await?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "fsync_tests.rs"]
mod tests;
