//! Data files that no version names yet.

use std::collections::HashSet;

use lance::Dataset;
use lance_io::object_store::ObjectStore;
use lance_table::format::Fragment;
use object_store::path::Path;

/// New data files of a table. Dropping this removes them, unless a commit may name them.
pub struct UnnamedFiles {
    dataset: Dataset,
    names: Vec<String>,
}

impl UnnamedFiles {
    pub fn of(dataset: &Dataset) -> Self {
        Self {
            dataset: dataset.clone(),
            names: Vec::new(),
        }
    }

    pub fn add(&mut self, fragments: &[Fragment]) {
        let files = fragments.iter().flat_map(|fragment| &fragment.files);
        let own = files.filter(|file| file.base_id.is_none());
        self.names.extend(own.map(|file| file.path.clone()));
    }

    /// From here on a version may name the files.
    pub fn keep(&mut self) {
        self.names.clear();
    }
}

impl Drop for UnnamedFiles {
    fn drop(&mut self) {
        remove_in_background(&self.dataset, std::mem::take(&mut self.names));
    }
}

/// The names of the data files of a version.
pub fn names_of(dataset: &Dataset) -> HashSet<String> {
    let files = dataset.fragments().iter().flat_map(|one| &one.files);
    files.map(|file| file.path.clone()).collect()
}

/// Removes data files of a branch, except those that its newest version names: workers give names of files, and another
/// run of the job may have committed them. Version clean-up removes a file that remains.
pub fn remove_in_background(dataset: &Dataset, names: Vec<String>) {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else {
        return;
    };
    if names.is_empty() {
        return;
    }
    let dataset = dataset.clone();
    runtime.spawn(async move {
        if let Err(error) = remove(dataset, names).await {
            tracing::warn!(%error, "the files of a job stay until version clean-up");
        }
    });
}

async fn remove(mut dataset: Dataset, names: Vec<String>) -> lance::Result<()> {
    dataset.checkout_latest().await?;
    let named = names_of(&dataset);
    let store = dataset.object_store(None).await?;
    let data = dataset.data_dir();
    for name in names.iter().filter(|name| !named.contains(*name)) {
        remove_file(&store, &data, name).await;
    }
    Ok(())
}

/// Removes a data file, and the values of blobs beside it.
pub async fn remove_file(store: &ObjectStore, data: &Path, name: &str) {
    let _ = store.delete(&data.clone().join(name)).await;
    if let Some(stem) = name.strip_suffix(".lance") {
        let _ = store.remove_dir_all(data.clone().join(stem)).await;
    }
}
