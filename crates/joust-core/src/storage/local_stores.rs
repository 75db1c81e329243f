//! Lance's stores of local files, with changes.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use lance::Result;
use lance_io::object_store::providers::local::FileStoreProvider;
use lance_io::object_store::{
    ObjectStore, ObjectStoreParams, ObjectStoreProvider, ObjectStoreRegistry,
};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use url::Url;

/// Changes a store that Lance has created.
type Change = fn(ObjectStore) -> ObjectStore;

/// Lance's local stores, each changed.
#[derive(Debug)]
pub(crate) struct LocalStores {
    lances: FileStoreProvider,
    change: Change,
}

impl LocalStores {
    /// All of Lance's stores, the local ones changed.
    pub fn registry(change: Change) -> ObjectStoreRegistry {
        let stores = ObjectStoreRegistry::default();
        let lances = FileStoreProvider;
        stores.insert("file", Arc::new(Self { lances, change }));
        stores
    }
}

/// Syncs small files, such as tags and branches, before they get their names.
pub(crate) fn synced(mut store: ObjectStore) -> ObjectStore {
    if cfg!(unix) {
        store.inner = Arc::new(LocalFileSystem::new().with_fsync(true));
    }
    store
}

#[async_trait]
impl ObjectStoreProvider for LocalStores {
    async fn new_store(&self, base: Url, params: &ObjectStoreParams) -> Result<ObjectStore> {
        Ok((self.change)(self.lances.new_store(base, params).await?))
    }

    fn extract_path(&self, url: &Url) -> Result<Path> {
        self.lances.extract_path(url)
    }

    fn calculate_object_store_prefix(
        &self,
        url: &Url,
        storage_options: Option<&HashMap<String, String>>,
    ) -> Result<String> {
        self.lances
            .calculate_object_store_prefix(url, storage_options)
    }
}
