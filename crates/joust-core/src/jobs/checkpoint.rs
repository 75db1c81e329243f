//! What a job has computed, for its next run: the server may end before the commit.
//!
//! A cancelled job has no next run, so its files are [discarded](Table::discard_checkpoint), perhaps by another server
//! than the one that runs it. A run that is about to commit writes [`COMMITTING`] and then looks for [`CANCELLED`]; the
//! discard writes [`CANCELLED`] and then looks for [`COMMITTING`]. So at least one of them stops. [`COMMITTING`] outlives
//! the job, because a discard that has read the checkpoint may look for it after the commit.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{TimeDelta, Utc};
use futures::{StreamExt, TryStreamExt};
use lance_io::object_store::ObjectStore;
use object_store::ObjectStoreExt;
use object_store::path::Path;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::jobs::unnamed_files::{names_of, remove_file};
use crate::table::Table;
use crate::work::cancelled;

/// Directory of a table, or of a branch.
const DIRECTORY: &str = "_backfills";
/// The files of a checkpoint, by their suffixes.
const CONTENT: &str = "json";
/// A version may name the files from then on.
const COMMITTING: &str = "committing";
const CANCELLED: &str = "cancelled";
/// Version clean-up removes files that no version names after seven days, so the work behind older ones is done again.
const LIFETIME: TimeDelta = TimeDelta::days(6);
/// How long [`COMMITTING`] stays after its job has ended: longer than a discard takes.
const ENDED_LIFETIME: TimeDelta = TimeDelta::hours(1);
/// Files that are looked up at the same time.
const AT_ONCE: usize = 16;
/// Time between two writes of a checkpoint: what is lost at the end of the process takes not much longer.
pub const INTERVAL: Duration = Duration::from_secs(2);

/// The checkpoint of one job.
pub struct Checkpoint {
    store: Arc<ObjectStore>,
    directory: Path,
    job: String,
    written: Option<Instant>,
    /// There is something to write.
    is_behind: bool,
}

#[derive(Serialize, Deserialize)]
struct Saved<C> {
    /// Names of the files in the data directory that the content has or had.
    files: Vec<String>,
    content: C,
}

impl Table {
    /// Removes what a cancelled job has computed, unless a version may name it.
    pub async fn discard_checkpoint(&self, job: &str) -> Result<()> {
        let (store, base) = self.handle().files().await?;
        let checkpoint = Checkpoint::at(store, &base, job);
        let Some(saved) = checkpoint.read::<Value>().await else {
            return Ok(());
        };
        checkpoint.mark(CANCELLED).await?;
        if checkpoint.has(COMMITTING).await? {
            return Ok(());
        }
        // A run that has lost the job may have written the checkpoint again after the commit of another one.
        let named = names_of(&*self.newest().await?);
        let data = base.join("data");
        let unnamed = saved.files.into_iter().filter(|one| !named.contains(one));
        for file in unnamed {
            remove_file(&checkpoint.store, &data, &file).await;
        }
        checkpoint.remove().await;
        Ok(())
    }

    /// Removes old checkpoints of jobs that were cancelled or have failed. What stays has no effect.
    pub(crate) async fn remove_expired_checkpoints(&self) -> Result<()> {
        let (store, base) = self.handle().files().await?;
        remove_expired(&store, &base.join(DIRECTORY)).await;
        Ok(())
    }
}

impl Checkpoint {
    /// `job`: the same for all runs of a job, and no other one.
    pub async fn of(table: &Table, job: &str) -> Result<Self> {
        let (store, base) = table.handle().files().await?;
        let checkpoint = Self::at(store, &base, job);
        remove_expired(&checkpoint.store, &checkpoint.directory).await;
        Ok(checkpoint)
    }

    fn at(store: Arc<ObjectStore>, base: &Path, job: &str) -> Self {
        Self {
            store,
            directory: base.clone().join(DIRECTORY),
            job: job.to_string(),
            written: None,
            is_behind: false,
        }
    }

    fn path(&self, suffix: &str) -> Path {
        self.directory
            .clone()
            .join(format!("{}.{suffix}", self.job))
    }

    async fn read<C: DeserializeOwned>(&self) -> Option<Saved<C>> {
        let bytes = self.store.read_one_all(&self.path(CONTENT)).await.ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    async fn mark(&self, suffix: &str) -> Result<()> {
        self.store.put(&self.path(suffix), b"").await?;
        Ok(())
    }

    async fn has(&self, suffix: &str) -> Result<bool> {
        Ok(self.store.exists(&self.path(suffix)).await?)
    }

    /// What an earlier run has written; `None` if it can't be read. Then everything is computed again.
    pub async fn load<C: DeserializeOwned>(&self) -> Option<C> {
        self.read().await.map(|saved| saved.content)
    }

    /// A version may name the files from here on. Code 17 if the job is cancelled.
    pub async fn begin_commit(&self) -> Result<()> {
        self.mark(COMMITTING).await?;
        match self.has(CANCELLED).await? {
            true => Err(cancelled()),
            false => Ok(()),
        }
    }

    /// The files of `paths` that still exist and stay for another day.
    pub async fn lasting(&self, paths: impl Iterator<Item = Path>) -> Result<HashSet<Path>> {
        let heads = futures::stream::iter(paths).map(|path| async move {
            match self.store.inner.head(&path).await {
                Ok(file) if Utc::now() - file.last_modified < LIFETIME => Ok(Some(path)),
                Ok(_) | Err(object_store::Error::NotFound { .. }) => Ok(None),
                Err(error) => Err(Error::from(error)),
            }
        });
        let found: Vec<_> = heads.buffer_unordered(AT_ONCE).try_collect().await?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Whether it is time to write: the last write is not recent. If it is, [`is_saved`](Self::is_saved) is false from now
    /// on.
    pub fn is_due(&mut self) -> bool {
        self.is_behind = self.written.is_some_and(|time| time.elapsed() < INTERVAL);
        !self.is_behind
    }

    pub fn is_saved(&self) -> bool {
        !self.is_behind
    }

    /// Writes the file. Without it a later run begins anew, so a failure is only logged. `files`: names of all files in the
    /// data directory that this content or a former one has.
    pub async fn write<C: Serialize + Sync>(&mut self, files: Vec<String>, content: &C) {
        self.is_behind = false;
        let written = match serde_json::to_vec(&Saved { files, content }) {
            Ok(bytes) => self.store.put(&self.path(CONTENT), &bytes).await.map(drop),
            Err(error) => Err(error.into()),
        };
        if let Err(error) = written {
            tracing::warn!(%error, "the checkpoint of a job could not be written");
        }
        self.written = Some(Instant::now());
    }

    /// The job has ended. A file that stays has no effect.
    pub async fn remove(&self) {
        let _ = self.store.delete(&self.path(CONTENT)).await;
    }
}

async fn remove_expired(store: &ObjectStore, directory: &Path) {
    let listed = store.inner.list(Some(directory));
    let files: Vec<_> = listed.filter_map(async |file| file.ok()).collect().await;
    let parts = |path: &Path| -> Option<(String, String)> {
        let (job, suffix) = path.filename()?.rsplit_once('.')?;
        Some((job.to_string(), suffix.to_string()))
    };
    let parts: Vec<_> = files.iter().map(|file| parts(&file.location)).collect();
    let with_content: HashSet<&String> = parts
        .iter()
        .flatten()
        .filter(|(_, suffix)| suffix == CONTENT)
        .map(|(job, _)| job)
        .collect();
    for (file, parts) in files.iter().zip(&parts) {
        let lifetime = match parts {
            Some((job, suffix)) if suffix == COMMITTING && !with_content.contains(job) => {
                ENDED_LIFETIME
            }
            _ => LIFETIME,
        };
        if Utc::now() - file.last_modified > lifetime {
            let _ = store.delete(&file.location).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;
    use std::time::SystemTime;

    use arrow::array::{ArrayRef, Int64Array, RecordBatch};

    use super::*;
    use crate::ipc::sent;
    use crate::{Engine, EngineOptions};

    const JOB: &str = "01";
    /// No version names it.
    const STAGED: &str = "staged.lance";

    /// A table with a staged file, the file that its version names, and its directory.
    async fn table() -> (Table, String, tempfile::TempDir) {
        let directory = tempfile::tempdir().unwrap();
        let location = format!("{}/t.lance", directory.path().display());
        let engine = Engine::new(EngineOptions::default());
        let table = engine.table(&location, Default::default());
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..3));
        let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
        let rows = sent(engine.memory(), &batch);
        table.create(rows, false).await.unwrap();
        let named = files(&directory, "data").pop_first().unwrap();
        std::fs::write(path(&directory, "data").join(STAGED), b"").unwrap();
        // Values of blobs.
        std::fs::create_dir(path(&directory, "data").join("staged")).unwrap();
        std::fs::write(path(&directory, "data").join("staged/1.blob"), b"").unwrap();
        (table, named, directory)
    }

    fn path(directory: &tempfile::TempDir, name: &str) -> PathBuf {
        directory.path().join("t.lance").join(name)
    }

    fn files(directory: &tempfile::TempDir, name: &str) -> BTreeSet<String> {
        let entries = std::fs::read_dir(path(directory, name)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    #[tokio::test]
    async fn a_discard_removes_the_files_that_no_version_names() {
        let (table, named, directory) = table().await;
        let mut checkpoint = Checkpoint::of(&table, JOB).await.unwrap();
        let written = vec![named.clone(), STAGED.to_string()];
        checkpoint.write(written, &()).await;
        table.discard_checkpoint(JOB).await.unwrap();
        assert_eq!(files(&directory, "data"), BTreeSet::from([named]));
        assert!(checkpoint.begin_commit().await.is_err());
    }

    #[tokio::test]
    async fn a_discard_that_began_before_the_commit_removes_nothing_after_it() {
        let (table, _, directory) = table().await;
        let mut checkpoint = Checkpoint::of(&table, JOB).await.unwrap();
        checkpoint.begin_commit().await.unwrap();
        checkpoint.remove().await;
        // What such a discard has read, or what a run that lost the job writes.
        checkpoint.write(vec![STAGED.to_string()], &()).await;
        table.discard_checkpoint(JOB).await.unwrap();
        assert!(files(&directory, "data").contains(STAGED));
    }

    #[tokio::test]
    async fn the_marker_of_a_commit_stays_an_hour_and_with_a_checkpoint_longer() {
        let (table, _, directory) = table().await;
        let backfills = path(&directory, DIRECTORY);
        std::fs::create_dir(&backfills).unwrap();
        let written = [
            ("old.committing", 2),
            ("new.committing", 0),
            ("kept.committing", 2),
            ("kept.json", 2),
            ("cancelled.cancelled", 2),
            ("ancient.json", 24 * 7),
        ];
        for (name, hours) in written {
            let file = std::fs::File::create(backfills.join(name)).unwrap();
            let age = Duration::from_secs(hours * 3_600);
            file.set_modified(SystemTime::now() - age).unwrap();
        }
        Checkpoint::of(&table, JOB).await.unwrap();
        let expected = [
            "cancelled.cancelled",
            "kept.committing",
            "kept.json",
            "new.committing",
        ];
        let expected: BTreeSet<_> = expected.map(str::to_string).into();
        assert_eq!(files(&directory, DIRECTORY), expected);
    }
}
