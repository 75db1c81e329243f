//! The data files that workers wrote.

use std::collections::HashSet;
use std::sync::Arc;

use lance::Dataset;
use lance_file::reader::{CachedFileMetadata, FileReader};
use lance_io::scheduler::{ScanScheduler, SchedulerConfig};
use lance_io::utils::CachedFileSize;

use crate::error::{Error, Result};

/// Bytes that may be read ahead.
const READ_AHEAD_BYTES: u64 = 32 << 20;

/// The data files of one order: those that no version names, each for one task.
pub struct WorkerFiles {
    dataset: Arc<Dataset>,
    /// Names of the files of the version that the order reads.
    known: HashSet<String>,
    /// Names of the files that tasks have got.
    taken: HashSet<String>,
}

impl WorkerFiles {
    pub fn of(dataset: Arc<Dataset>) -> Self {
        let files = dataset.fragments().iter().flat_map(|one| &one.files);
        Self {
            known: files.map(|file| file.path.clone()).collect(),
            taken: HashSet::new(),
            dataset,
        }
    }

    /// Reads the metadata of a file in the data directory. Code 13 if it is not a new one.
    pub async fn open(&self, file: &str) -> Result<CachedFileMetadata> {
        let stem = file.strip_suffix(".lance").unwrap_or_default();
        if stem.is_empty() || !stem.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(refused(file, "has an invalid name"));
        }
        if self.known.contains(file) {
            return Err(refused(file, "belongs to a version of the table"));
        }
        if self.taken.contains(file) {
            return Err(refused(file, "belongs to another task"));
        }
        let scheduler = ScanScheduler::new(
            self.dataset.object_store(None).await?,
            SchedulerConfig::new(READ_AHEAD_BYTES),
        );
        let path = self.dataset.data_dir().join(file);
        let file = scheduler
            .open_file(&path, &CachedFileSize::unknown())
            .await
            .map_err(|error| match error.is_not_found() {
                true => Error::invalid(format!(
                    "a worker's file is not at {path}: workers have to write where the server reads \
                     the table"
                )),
                false => error.into(),
            })?;
        Ok(FileReader::read_all_metadata(&file).await?)
    }

    /// Takes note that a task has got a file.
    pub fn take(&mut self, file: &str) {
        self.taken.insert(file.to_string());
    }
}

/// Code 13 for a file of a worker.
pub fn refused(file: &str, what: &str) -> Error {
    Error::invalid(format!("the file {file:?} of a worker {what}"))
}
