//! The data files that workers wrote.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::SystemTime;

use chrono::{DateTime, TimeDelta, Utc};
use lance::Dataset;
use lance_core::datatypes::{NullabilityComparison, SchemaCompareOptions};
use lance_file::reader::{CachedFileMetadata, FileReader};
use lance_io::scheduler::{ScanScheduler, SchedulerConfig};
use lance_io::utils::CachedFileSize;
use lance_table::format::Fragment;
use object_store::ObjectStoreExt;

use crate::error::{Error, Result};
use crate::jobs::unnamed_files::names_of;

/// Bytes that may be read ahead.
const READ_AHEAD_BYTES: u64 = 32 << 20;
/// The most that the clock of the store may be behind that of the catalog.
const CLOCK_DIFFERENCE: TimeDelta = TimeDelta::minutes(10);

/// The data files of one order: those that no version names, each for one task.
pub struct WorkerFiles {
    dataset: Arc<Dataset>,
    /// Older files belong to other versions, or to other jobs.
    earliest: Option<DateTime<Utc>>,
    /// Names of the files of the version that the order reads.
    known: HashSet<String>,
    /// Names of the files that tasks have got.
    taken: HashSet<String>,
}

impl WorkerFiles {
    /// `since`: see [`RemoteWork::since`](super::RemoteWork::since).
    pub fn of(dataset: Arc<Dataset>, since: Option<SystemTime>) -> Self {
        Self {
            earliest: since.map(|time| DateTime::from(time) - CLOCK_DIFFERENCE),
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
        let store = self.dataset.object_store(None).await?;
        let path = self.dataset.data_dir().join(file);
        let stored = store.inner.head(&path).await.map_err(|error| match error {
            object_store::Error::NotFound { .. } => Error::invalid(format!(
                "a worker's file is not at {path}: workers have to write where the server reads \
                     the table"
            )),
            error => error.into(),
        })?;
        if self
            .earliest
            .is_some_and(|time| stored.last_modified < time)
        {
            return Err(refused(file, "is older than the job"));
        }
        let scheduler = ScanScheduler::new(store, SchedulerConfig::new(READ_AHEAD_BYTES));
        let size = CachedFileSize::new(stored.size);
        let opened = scheduler.open_file(&path, &size).await?;
        FileReader::read_all_metadata(&opened)
            .await
            .map_err(|error| match is_damaged(&error) {
                true => refused(file, "is damaged"),
                false => error.into(),
            })
    }

    /// A new fragment with only this file, which has rows of the table. It has no lineage.
    pub async fn fragment(&self, file: &str) -> Result<Fragment> {
        let stored = self.open(file).await?;
        let comparison = SchemaCompareOptions {
            compare_nullability: NullabilityComparison::Ignore,
            ..SchemaCompareOptions::default()
        };
        stored
            .file_schema
            .check_compatible(self.dataset.schema(), &comparison)
            .map_err(|_| refused(file, "has other columns"))?;
        let rows = usize::try_from(stored.num_rows).unwrap_or(usize::MAX);
        if rows == 0 {
            return Err(refused(file, "has no rows"));
        }
        let mut fragment = Fragment::new(0);
        fragment.files = vec![self.dataset.create_data_file(file, None).await?];
        fragment.physical_rows = Some(rows);
        Ok(fragment)
    }

    /// A new fragment for each of the files of a task.
    pub async fn fragments(&self, files: &[String]) -> Result<Vec<Fragment>> {
        let mut names = HashSet::with_capacity(files.len());
        let mut fragments = Vec::with_capacity(files.len());
        for file in files {
            if !names.insert(file) {
                return Err(refused(file, "is there twice"));
            }
            fragments.push(self.fragment(file).await?);
        }
        Ok(fragments)
    }

    /// Takes note that a task has got these files.
    pub fn take_all(&mut self, files: &[String]) {
        self.taken.extend(files.iter().cloned());
    }

    /// Takes note that a task has got a file.
    pub fn take(&mut self, file: &str) {
        self.taken.insert(file.to_string());
    }
}

/// Whether the content of a file is wrong. Another failure is one of the store.
pub fn is_damaged(error: &lance::Error) -> bool {
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
