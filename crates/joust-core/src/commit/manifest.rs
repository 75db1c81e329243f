//! Lance's put-if-absent commit, with fewer steps on a local disk.
//!
//! Besides the manifest, Lance stores a hint at the newest version. Its writers read the hint to see whether
//! there are newer commits. On a local disk Lance replaces that file in each commit and reads it in the next,
//! with a change of threads for every step; and a file system is slow to create a file where many were removed
//! a moment ago. Here the hint is overwritten in place, and read on the thread of the commit.

use async_trait::async_trait;
use futures::stream::{self, BoxStream, StreamExt};
use lance_io::object_store::ObjectStore;
use lance_table::format::{IndexMetadata, Manifest, Transaction};
use lance_table::io::commit::{
    CommitError, CommitHandler, ConditionalPutCommitHandler, ManifestLocation,
    ManifestNamingScheme, ManifestWriter, uses_version_hint,
};
use object_store::path::Path as StorePath;

use super::fsync_failure::fsync_failure;
use crate::blocking_executor::step;
use crate::storage::atomic_create::put_new;
use crate::storage::fsync::SyncFn;
use crate::storage::{path_on_disk, version_hint};

/// Writes manifests directly and not through the store of the table, which may rename them into place before
/// they are synced.
#[derive(Debug)]
pub(super) struct LocalCommit {
    sync: Option<SyncFn>,
}

impl LocalCommit {
    /// `sync`: a commit syncs the manifest, and calls this for its directory.
    pub fn new(sync: Option<SyncFn>) -> Self {
        Self { sync }
    }
}

#[async_trait]
impl CommitHandler for LocalCommit {
    fn is_version_not_found_definitive(&self) -> bool {
        ConditionalPutCommitHandler.is_version_not_found_definitive()
    }

    /// The version exists then, but without the promised durability.
    fn propagate_commit_error_after_success(&self) -> bool {
        true
    }

    fn list_manifest_locations_since<'a>(
        &self,
        base_path: &StorePath,
        object_store: &'a ObjectStore,
        since_version: u64,
    ) -> BoxStream<'a, lance::Result<ManifestLocation>> {
        if uses_version_hint(object_store) && is_newest(base_path, since_version) {
            return stream::empty().boxed();
        }
        ConditionalPutCommitHandler.list_manifest_locations_since(
            base_path,
            object_store,
            since_version,
        )
    }

    async fn commit(
        &self,
        manifest: &mut Manifest,
        indices: Option<Vec<IndexMetadata>>,
        base_path: &StorePath,
        object_store: &ObjectStore,
        manifest_writer: ManifestWriter,
        naming_scheme: ManifestNamingScheme,
        transaction: Option<Transaction>,
    ) -> Result<ManifestLocation, CommitError> {
        let path = naming_scheme.manifest_path(base_path, manifest.version);
        let (memory, at) = (ObjectStore::memory(), StorePath::from("manifest"));
        manifest_writer(&memory, manifest, indices, &at, transaction).await?;
        let bytes = memory.read_one_all(&at).await?;
        let size = bytes.len() as u64;
        let (file, sync) = (path_on_disk(&path), self.sync);
        let put = step(move || put_new(&file, &bytes, sync)).await;
        let put = put.map_err(|error| CommitError::OtherError(error.into()))?;
        let made = put.ok_or(CommitError::CommitConflict)?;
        if uses_version_hint(object_store) {
            version_hint::write(&path_on_disk(base_path), manifest.version);
        }
        made.named
            .map_err(|error| fsync_failure(manifest.version, error))?;
        Ok(ManifestLocation {
            version: manifest.version,
            path,
            size: Some(size),
            naming_scheme,
            e_tag: Some(made.e_tag),
            identity: None,
        })
    }
}

/// Whether the hint and the next manifest name show that there is no later version. Lance draws the same
/// conclusion from them. `false`: unknown.
fn is_newest(base_path: &StorePath, version: u64) -> bool {
    let exists = |version| {
        let path = ManifestNamingScheme::V2.manifest_path(base_path, version);
        path_on_disk(&path).try_exists().ok()
    };
    version_hint::read(&path_on_disk(base_path)).is_some_and(|hint| hint <= version)
        && exists(version) == Some(true)
        && exists(version + 1) == Some(false)
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
