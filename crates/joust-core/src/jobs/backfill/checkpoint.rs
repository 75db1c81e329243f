//! The staged files of a backfill, for its next run: the server may end before the commit.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{TimeDelta, Utc};
use futures::{StreamExt, TryStreamExt};
use lance::Dataset;
use lance::dataset::transaction::DataReplacementGroup;
use lance_io::object_store::ObjectStore;
use lance_table::format::{DataFile, DeletionFile};
use object_store::ObjectStoreExt;
use object_store::path::Path;
use serde::{Deserialize, Serialize};

use super::binding::Binding;
use super::evaluate::Tally;
use super::stage::{Basis, Staged};
use crate::error::{Error, Result};
use crate::table::Table;

/// Directory of a table, or of a branch.
const DIRECTORY: &str = "_backfills";
/// Version clean-up removes staged files after seven days, so older ones are computed again.
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
    /// Files were staged since.
    is_behind: bool,
    /// The staged files that it has or had.
    pub files: HashSet<String>,
}

#[derive(Serialize, Deserialize)]
struct Content {
    /// Other computations need other values.
    computation: String,
    fragments: Vec<Saved>,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    fragment: u64,
    file: DataFile,
    basis: Basis,
    /// Deleted rows were not computed. A restore can bring them back.
    deletions: Option<DeletionFile>,
    tally: Tally,
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
            files: HashSet::new(),
        })
    }

    /// What an earlier run has staged. Nothing if there was none, or if it computed other values.
    pub async fn load(&mut self, binding: &Binding, dataset: &Dataset) -> BTreeMap<u64, Staged> {
        // Without it, everything is computed again.
        let Ok(bytes) = self.store.read_one_all(&self.path).await else {
            return BTreeMap::new();
        };
        let content = serde_json::from_slice::<Content>(&bytes).ok();
        let Some(content) = content.filter(|one| one.computation == binding.identity()) else {
            return BTreeMap::new();
        };
        let mut found = BTreeMap::new();
        let fragments = dataset.fragments().iter();
        let deletions: HashMap<u64, _> = fragments
            .map(|fragment| (fragment.id, &fragment.deletion_file))
            .collect();
        for saved in content.fragments {
            if deletions.get(&saved.fragment) != Some(&&saved.deletions) {
                continue;
            }
            let staged = Staged {
                group: DataReplacementGroup(saved.fragment, saved.file),
                basis: saved.basis,
                deletions: saved.deletions,
                tally: saved.tally,
            };
            found.insert(saved.fragment, staged);
        }
        self.remember(&found);
        found
    }

    /// The staged files that still exist and stay for another day.
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

    /// Writes the file, unless that has just happened. Without it a later run begins anew, so a failure is only logged.
    pub async fn save(&mut self, binding: &Binding, staged: &BTreeMap<u64, Staged>) {
        match self.written {
            Some(time) if time.elapsed() < INTERVAL => self.is_behind = true,
            _ => self.save_now(binding, staged).await,
        }
    }

    pub fn is_saved(&self) -> bool {
        !self.is_behind
    }

    /// Writes the file.
    pub async fn save_now(&mut self, binding: &Binding, staged: &BTreeMap<u64, Staged>) {
        self.is_behind = false;
        if let Err(error) = self.write(binding, staged).await {
            tracing::warn!(%error, "the checkpoint of a backfill could not be written");
        }
        self.written = Some(Instant::now());
    }

    async fn write(&mut self, binding: &Binding, staged: &BTreeMap<u64, Staged>) -> Result<()> {
        let fragments = staged.values().map(|one| Saved {
            fragment: one.group.0,
            file: one.group.1.clone(),
            basis: one.basis.clone(),
            deletions: one.deletions.clone(),
            tally: one.tally.clone(),
        });
        let content = Content {
            computation: binding.identity(),
            fragments: fragments.collect(),
        };
        let bytes = serde_json::to_vec(&content)
            .map_err(|error| Error::internal("the checkpoint could not be written", error))?;
        // A write that fails may still take effect.
        self.remember(staged);
        self.store.put(&self.path, &bytes).await?;
        Ok(())
    }

    fn remember(&mut self, staged: &BTreeMap<u64, Staged>) {
        let paths = staged.values().map(|one| one.group.1.path.clone());
        self.files.extend(paths);
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
