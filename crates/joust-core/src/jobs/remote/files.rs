//! The data files that workers wrote.

use std::collections::HashSet;
use std::sync::Arc;

use lance::Dataset;
use lance_file::reader::{CachedFileMetadata, FileReader};
use lance_io::scheduler::{ScanScheduler, SchedulerConfig};
use lance_io::utils::CachedFileSize;

use crate::error::{Error, Result};
use crate::jobs::unnamed_files::names_of;

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
        Self {
            known: names_of(&dataset),
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
        let opened = scheduler
            .open_file(&path, &CachedFileSize::unknown())
            .await
            .map_err(|error| match error.is_not_found() {
                true => Error::invalid(format!(
                    "a worker's file is not at {path}: workers have to write where the server reads \
                     the table"
                )),
                false => error.into(),
            })?;
        FileReader::read_all_metadata(&opened)
            .await
            .map_err(|error| match is_damaged(&error) {
                true => refused(file, "is damaged"),
                false => error.into(),
            })
    }

    /// Takes note that a task has got a file.
    pub fn take(&mut self, file: &str) {
        self.taken.insert(file.to_string());
    }
}

/// Whether the content of a file is wrong. Another failure is one of the store.
fn is_damaged(error: &lance::Error) -> bool {
    use lance::Error as L;
    match error.find_root() {
        L::InvalidInput { .. }
        | L::CorruptFile { .. }
        | L::NotSupported { .. }
        | L::VersionConflict { .. }
        | L::Schema { .. } => true,
        // Undecodable metadata.
        L::IO { source, .. } => source.is::<prost::DecodeError>(),
        _ => false,
    }
}

/// Code 13 for a file of a worker.
pub fn refused(file: &str, what: &str) -> Error {
    Error::invalid(format!("the file {file:?} of a worker {what}"))
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;

    #[test]
    fn a_file_is_damaged_only_if_its_content_is_wrong() {
        let undecodable = prost_types::Duration::decode(&b"\xff"[..]).unwrap_err();
        for error in [
            lance::Error::from(undecodable),
            lance::Error::invalid_input("no footer"),
        ] {
            assert!(is_damaged(&error), "{error}");
        }
        let store = object_store::Error::Generic {
            store: "S3",
            source: "timeout".into(),
        };
        for error in [
            lance::Error::from(store),
            lance::Error::from(std::io::Error::other("reset")),
            lance::Error::timeout("too long"),
        ] {
            assert!(!is_damaged(&error), "{error}");
        }
    }
}
