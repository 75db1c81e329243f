//! Handlers for the tests of the pipeline.

use std::fmt::Debug;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use async_trait::async_trait;
use futures::stream::BoxStream;
use lance::Dataset;
use lance::dataset::{InsertBuilder, WriteMode, WriteParams};
use lance_io::object_store::ObjectStore;
use lance_table::format::{IndexMetadata, Manifest, Transaction};
use lance_table::io::commit::{
    CommitError, CommitHandler, ConditionalPutCommitHandler, ManifestLocation,
    ManifestNamingScheme, ManifestWriter,
};
use object_store::path::Path;

use super::Handler;
use super::arguments::Commit;
use crate::storage::fsync::SyncFn;

/// The pipeline before a handler that writes the manifest.
pub(super) fn pipeline(sync: Option<SyncFn>, manifest: impl CommitHandler + 'static) -> Handler {
    Handler {
        branch: None,
        sync,
        manifest: Arc::new(manifest),
    }
}

/// Lance's handler, without the pipeline.
pub(super) fn plain() -> Arc<dyn CommitHandler> {
    Arc::new(ConditionalPutCommitHandler)
}

/// Writes a row with this handler.
pub(super) async fn append(uri: &str, mode: WriteMode, handler: Arc<dyn CommitHandler>) -> Dataset {
    let params = WriteParams {
        mode,
        commit_handler: Some(handler),
        enable_v2_manifest_paths: true,
        ..WriteParams::default()
    };
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values([1]));
    let row = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
    let builder = InsertBuilder::new(uri).with_params(&params);
    builder.execute(vec![row]).await.unwrap()
}

/// A step that writes the manifest, and does more.
#[async_trait]
pub(super) trait Step: Debug + Send + Sync {
    async fn run(&self, commit: Commit<'_>) -> Result<ManifestLocation, CommitError>;
}

/// A step as a commit handler.
#[derive(Debug, Clone)]
pub(super) struct Faked<S>(pub Arc<S>);

#[async_trait]
impl<S: Step> CommitHandler for Faked<S> {
    fn is_version_not_found_definitive(&self) -> bool {
        ConditionalPutCommitHandler.is_version_not_found_definitive()
    }

    fn propagate_commit_error_after_success(&self) -> bool {
        ConditionalPutCommitHandler.propagate_commit_error_after_success()
    }

    fn list_manifest_locations_since<'a>(
        &self,
        base_path: &Path,
        object_store: &'a ObjectStore,
        since_version: u64,
    ) -> BoxStream<'a, lance::Result<ManifestLocation>> {
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
