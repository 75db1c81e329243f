//! Local files whose small writes, such as tags and branches, are synced before they get their name.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use lance::Result;
use lance_io::object_store::providers::local::FileStoreProvider;
use lance_io::object_store::{ObjectStore, ObjectStoreParams, ObjectStoreProvider};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use url::Url;

/// Lance's local store over a file system that syncs what is put into it.
#[derive(Debug, Default)]
pub(super) struct SyncedFiles(FileStoreProvider);

#[async_trait]
impl ObjectStoreProvider for SyncedFiles {
    async fn new_store(&self, base: Url, params: &ObjectStoreParams) -> Result<ObjectStore> {
        let mut store = self.0.new_store(base, params).await?;
        if cfg!(unix) {
            store.inner = Arc::new(LocalFileSystem::new().with_fsync(true));
        }
        Ok(store)
    }

    fn extract_path(&self, url: &Url) -> Result<Path> {
        self.0.extract_path(url)
    }

    fn calculate_object_store_prefix(
        &self,
        url: &Url,
        storage_options: Option<&HashMap<String, String>>,
    ) -> Result<String> {
        self.0.calculate_object_store_prefix(url, storage_options)
    }
}
