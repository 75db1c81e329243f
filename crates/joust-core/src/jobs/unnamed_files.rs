//! Data files that no version names yet.

use std::sync::Arc;

use lance::Dataset;
use lance_io::object_store::ObjectStore;
use lance_table::format::Fragment;
use object_store::path::Path;

use crate::error::Result;

/// New data files of a table. Dropping this removes them, unless a commit may name them.
pub struct UnnamedFiles {
    store: Arc<ObjectStore>,
    data: Path,
    paths: Vec<Path>,
}

impl UnnamedFiles {
    pub async fn of(dataset: &Dataset) -> Result<Self> {
        Ok(Self {
            store: dataset.object_store(None).await?,
            data: dataset.data_dir(),
            paths: Vec::new(),
        })
    }

    pub fn add(&mut self, fragments: &[Fragment]) {
        let files = fragments.iter().flat_map(|fragment| &fragment.files);
        let own = files.filter(|file| file.base_id.is_none());
        let paths = own.map(|file| self.data.clone().join(file.path.as_str()));
        self.paths.extend(paths);
    }

    /// From here on a version may name the files.
    pub fn keep(&mut self) {
        self.paths.clear();
    }
}

impl Drop for UnnamedFiles {
    fn drop(&mut self) {
        remove_in_background(&self.store, std::mem::take(&mut self.paths));
    }
}

/// Version clean-up removes a file that remains.
pub fn remove_in_background(store: &Arc<ObjectStore>, paths: Vec<Path>) {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else {
        return;
    };
    if paths.is_empty() {
        return;
    }
    let store = store.clone();
    runtime.spawn(async move {
        for path in paths {
            let _ = store.delete(&path).await;
        }
    });
}
