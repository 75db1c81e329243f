//! What a job has computed, for its next run: the server may end before the commit.
//!
//! A cancelled job has no next run, so its files are [discarded](Table::discard_checkpoint), perhaps by another server
//! than the one that runs it. A run that is about to commit writes [`COMMITTING`] and then looks for [`CANCELLED`]; the
//! discard writes [`CANCELLED`] and then looks for [`COMMITTING`]. So at least one of them gives up.

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
        let data = base.join("data");
        for file in saved.files {
            let _ = checkpoint.store.delete(&data.clone().join(file)).await;
        }
        checkpoint.remove().await;
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
        for suffix in [CONTENT, COMMITTING] {
            let _ = self.store.delete(&self.path(suffix)).await;
        }
    }
}

/// Removes old checkpoints of jobs that were cancelled or have failed. What stays has no effect.
async fn remove_expired(store: &ObjectStore, directory: &Path) {
    let mut found = store.inner.list(Some(directory));
    while let Some(Ok(file)) = found.next().await {
        if Utc::now() - file.last_modified > LIFETIME {
            let _ = store.delete(&file.location).await;
        }
    }
}
