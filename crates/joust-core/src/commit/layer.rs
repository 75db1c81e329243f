//! One layer of the commit pipeline: a commit handler around another one.

use std::fmt::Debug;

use async_trait::async_trait;
use futures::stream::BoxStream;
use lance_io::object_store::ObjectStore;
use lance_table::format::{IndexMetadata, Manifest, Transaction};
use lance_table::io::commit::{
    CommitError, CommitHandler, ManifestLocation, ManifestNamingScheme, ManifestWriter,
};
use object_store::path::Path;

/// The arguments of a commit, as Lance passes them to a handler.
pub(super) struct Commit<'a> {
    pub manifest: &'a mut Manifest,
    pub indices: Option<Vec<IndexMetadata>>,
    pub base_path: &'a Path,
    pub object_store: &'a ObjectStore,
    pub manifest_writer: ManifestWriter,
    pub naming_scheme: ManifestNamingScheme,
    pub transaction: Option<Transaction>,
}

impl Commit<'_> {
    /// Passes the commit on to a handler.
    pub async fn by(self, handler: &dyn CommitHandler) -> Result<ManifestLocation, CommitError> {
        handler
            .commit(
                self.manifest,
                self.indices,
                self.base_path,
                self.object_store,
                self.manifest_writer,
                self.naming_scheme,
                self.transaction,
            )
            .await
    }
}

/// A step around the commits of an inner handler.
#[async_trait]
pub(super) trait CommitLayer: Debug + Send + Sync {
    /// The inner handler.
    fn inner(&self) -> &dyn CommitHandler;

    async fn run(&self, commit: Commit<'_>) -> Result<ManifestLocation, CommitError>;
}

/// A layer as a commit handler.
#[derive(Debug)]
pub(super) struct Layered<A>(pub A);

#[async_trait]
impl<A: CommitLayer> CommitHandler for Layered<A> {
    fn is_version_not_found_definitive(&self) -> bool {
        self.0.inner().is_version_not_found_definitive()
    }

    fn propagate_commit_error_after_success(&self) -> bool {
        self.0.inner().propagate_commit_error_after_success()
    }

    fn list_manifest_locations_since<'a>(
        &self,
        base_path: &Path,
        object_store: &'a ObjectStore,
        since_version: u64,
    ) -> BoxStream<'a, lance::Result<ManifestLocation>> {
        self.0
            .inner()
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
        transaction: Option<Transaction>,
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
        self.0.run(commit).await
    }
}
