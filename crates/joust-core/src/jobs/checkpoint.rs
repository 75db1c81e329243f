//! What a job has computed, for its next run: the server may end before the commit.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{TimeDelta, Utc};
use futures::{StreamExt, TryStreamExt};
use lance_io::object_store::ObjectStore;
use object_store::ObjectStoreExt;
use object_store::path::Path;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::table::Table;

/// Directory of a table, or of a branch.
const DIRECTORY: &str = "_backfills";
/// Version clean-up removes files that no version names after seven days, so the work behind older ones is done again.
const LIFETIME: TimeDelta = TimeDelta::days(6);
/// Files that are looked up at the same time.
const AT_ONCE: usize = 16;
/// Time between two writes of a checkpoint: what is lost at the end of the process takes not much longer.
pub const INTERVAL: Duration = Duration::from_secs(2);

/// The file of one job.
pub struct Checkpoint {
    store: Arc<ObjectStore>,
    path: Path,
    written: Option<Instant>,
    /// There is something to write.
    is_behind: bool,
}

impl Checkpoint {
    /// `job`: the same for all runs of a job, and no other one.
    pub async fn of(table: &Table, job: &str) -> Result<Self> {
        let (store, base) = table.handle().files().await?;
        let directory = base.join(DIRECTORY);
        remove_expired(&store, &directory).await;
        Ok(Self {
            store,
            path: directory.join(format!("{job}.json")),
            written: None,
            is_behind: false,
        })
    }

    /// What an earlier run has written; `None` if it can't be read. Then everything is computed again.
    pub async fn load<C: DeserializeOwned>(&self) -> Option<C> {
        let bytes = self.store.read_one_all(&self.path).await.ok()?;
        serde_json::from_slice(&bytes).ok()
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

    /// Writes the file. Without it a later run begins anew, so a failure is only logged.
    pub async fn write<C: Serialize + Sync>(&mut self, content: &C) {
        self.is_behind = false;
        let written = match serde_json::to_vec(content) {
            Ok(bytes) => self.store.put(&self.path, &bytes).await.map(drop),
            Err(error) => Err(error.into()),
        };
        if let Err(error) = written {
            tracing::warn!(%error, "the checkpoint of a job could not be written");
        }
        self.written = Some(Instant::now());
    }

    /// The job has ended. A file that stays has no effect.
    pub async fn remove(&self) {
        let _ = self.store.delete(&self.path).await;
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
