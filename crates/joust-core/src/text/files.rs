//! The files of a segment in the storage of a table.

use std::path::{Path as LocalPath, PathBuf};
use std::sync::Arc;

use joust_text::segment::{Files, Segment};
use lance::Dataset;
use lance_io::local::to_local_path;
use lance_io::object_store::ObjectStore;
use object_store::path::Path;
use tokio::io::AsyncWriteExt;
use uuid::Uuid;

use super::entry::Entry;
use super::text_caches::TextCaches;
use crate::error::{Error, Result};

/// File of an entry without documents: storage has no empty directories.
const NO_DOCUMENTS: &str = "empty";

/// Opens the segment of an entry; `None` if it has no documents.
pub async fn open(
    dataset: &Dataset,
    entry: &Entry,
    caches: &TextCaches,
) -> Result<Option<Arc<Segment>>> {
    if entry.details.documents == 0 {
        return Ok(None);
    }
    let open = async || {
        let store = dataset.object_store(entry.base_id).await?;
        let directory = directory(dataset, entry)?;
        let segment = if store.is_local() {
            let path = PathBuf::from(to_local_path(&directory));
            blocking(move || Ok(Segment::open(&path)?)).await?
        } else {
            let files = download(&store, directory).await?;
            blocking(move || Ok(Segment::from_files(files)?)).await?
        };
        let bytes = segment.bytes() as usize;
        Ok((segment, bytes))
    };
    caches.segments.get(&entry.uuid, open).await.map(Some)
}

/// The directory of the entry's files: a branch or a clone references those of its source table.
fn directory(dataset: &Dataset, entry: &Entry) -> Result<Path> {
    let uuid = entry.uuid.to_string();
    let Some(base_id) = entry.base_id else {
        return Ok(dataset.indices_dir().join(uuid));
    };
    let base = dataset
        .manifest()
        .base_paths
        .get(&base_id)
        .ok_or_else(|| Error::invalid("the text index belongs to a table that is not known"))?;
    let path = base.extract_path(dataset.session().store_registry())?;
    Ok(match base.is_dataset_root {
        true => path.join("_indices").join(uuid),
        false => path.join(uuid),
    })
}

async fn download(store: &ObjectStore, directory: Path) -> Result<Files> {
    let mut files = Vec::new();
    for name in store.read_dir(directory.clone()).await? {
        let bytes = store
            .read_one_all(&directory.clone().join(name.as_str()))
            .await?;
        files.push((name, bytes.to_vec()));
    }
    Ok(Files::new(files))
}

/// Copies a segment's files to the directory of an entry with that id; without files, records that there are no
/// documents. On a local disk they are fsynced when this returns.
pub async fn store_segment(dataset: &Dataset, uuid: Uuid, files: Option<Files>) -> Result<()> {
    let store = dataset.object_store(None).await?;
    let directory = dataset.indices_dir().join(uuid.to_string());
    let files = files.unwrap_or_else(|| Files::new([(NO_DOCUMENTS.to_string(), vec![b'\n'])]));
    if store.is_local() {
        let path = PathBuf::from(to_local_path(&directory));
        return blocking(move || Ok(write_synced(&path, &files)?)).await;
    }
    for (name, bytes) in files.iter() {
        let mut writer = store.create(&directory.clone().join(name)).await?;
        writer
            .write_all(bytes)
            .await
            .map_err(|error| Error::internal("a text index could not be written", error))?;
        lance_io::traits::Writer::shutdown(writer.as_mut()).await?;
    }
    Ok(())
}

fn write_synced(directory: &LocalPath, files: &Files) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)?;
    for (name, bytes) in files.iter() {
        use std::io::Write;
        let mut file = std::fs::File::create(directory.join(name))?;
        file.write_all(bytes)?;
        file.sync_all()?;
    }
    std::fs::File::open(directory)?.sync_all()?;
    if let Some(parent) = directory.parent() {
        std::fs::File::open(parent)?.sync_all()?;
    }
    Ok(())
}

/// Removes the files of an index entry that was never committed. Version clean-up removes remaining ones.
pub async fn remove_segment(dataset: &Dataset, uuid: Uuid) {
    if let Ok(store) = dataset.object_store(None).await {
        let directory = dataset.indices_dir().join(uuid.to_string());
        let _ = store.remove_dir_all(directory).await;
    }
}

/// Runs long computation or disk access on a blocking thread.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => Err(Error::internal("the work was cut off", error)),
        },
    }
}

/// A scratch directory, which is removed on drop.
pub struct Scratch(PathBuf);

impl Default for Scratch {
    fn default() -> Self {
        let name = format!("joust-text-{}", Uuid::new_v4());
        Self(std::env::temp_dir().join(name))
    }
}

impl Scratch {
    pub fn path(&self) -> &LocalPath {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
