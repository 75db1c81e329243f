//! The staged files of a backfill, for its next run: the server may end before the commit.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{TimeDelta, Utc};
use futures::StreamExt;
use lance::dataset::transaction::DataReplacementGroup;
use lance_io::object_store::ObjectStore;
use lance_table::format::DataFile;
use object_store::path::Path;
use serde::{Deserialize, Serialize};

use super::binding::Binding;
use super::evaluate::Tally;
use super::stage::{Basis, Staged};
use crate::error::{Error, Result};
use crate::table::Table;

/// Directory of a table, or of a branch.
const DIRECTORY: &str = "_backfills";
/// Version clean-up removes staged files after this time, so a checkpoint is of no use then.
const LIFETIME: TimeDelta = TimeDelta::days(7);
/// Time between two writes of a checkpoint: what is lost at the end of the process takes not much longer.
const INTERVAL: Duration = Duration::from_secs(2);

/// The file of one job.
pub struct Checkpoint {
    store: Arc<ObjectStore>,
    path: Path,
    written: Option<Instant>,
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
            files: HashSet::new(),
        })
    }

    /// What an earlier run has staged. Nothing if there was none, or if it computed other values.
    pub async fn load(&mut self, binding: &Binding, data: &Path) -> BTreeMap<u64, Staged> {
        // Without it, everything is computed again.
        let Ok(bytes) = self.store.read_one_all(&self.path).await else {
            return BTreeMap::new();
        };
        let content = serde_json::from_slice::<Content>(&bytes).ok();
        let Some(content) = content.filter(|one| one.computation == binding.identity()) else {
            return BTreeMap::new();
        };
        let mut found = BTreeMap::new();
        for saved in content.fragments {
            let path = data.clone().join(saved.file.path.as_str());
            if !self.store.exists(&path).await.unwrap_or(false) {
                continue;
            }
            let staged = Staged {
                group: DataReplacementGroup(saved.fragment, saved.file),
                basis: saved.basis,
                tally: saved.tally,
            };
            found.insert(saved.fragment, staged);
        }
        self.remember(&found);
        found
    }

    /// Writes the file, unless that has just happened.
    pub async fn save(&mut self, binding: &Binding, staged: &BTreeMap<u64, Staged>) -> Result<()> {
        if self.written.is_some_and(|time| time.elapsed() < INTERVAL) {
            return Ok(());
        }
        let fragments = staged.values().map(|one| Saved {
            fragment: one.group.0,
            file: one.group.1.clone(),
            basis: one.basis.clone(),
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
        self.written = Some(Instant::now());
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

/// Removes the checkpoints of jobs that were cancelled or have failed. What stays has no effect.
async fn remove_expired(store: &ObjectStore, directory: &Path) {
    let mut found = store.inner.list(Some(directory));
    while let Some(Ok(file)) = found.next().await {
        if Utc::now() - file.last_modified > LIFETIME {
            let _ = store.delete(&file.location).await;
        }
    }
}
