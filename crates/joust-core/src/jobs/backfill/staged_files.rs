//! The staged files of a backfill in its [`Checkpoint`].

use std::collections::{BTreeMap, HashMap, HashSet};

use lance::Dataset;
use lance::dataset::transaction::DataReplacementGroup;
use lance_table::format::{DataFile, DeletionFile};
use object_store::path::Path;
use serde::{Deserialize, Serialize};

use super::binding::Binding;
use super::evaluate::Tally;
use super::stage::{Basis, Staged};
use crate::error::Result;
use crate::jobs::checkpoint::Checkpoint;

/// The checkpoint of a backfill.
pub struct StagedFiles {
    checkpoint: Checkpoint,
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

impl StagedFiles {
    pub fn new(checkpoint: Checkpoint) -> Self {
        Self {
            checkpoint,
            files: HashSet::new(),
        }
    }

    /// What an earlier run has staged. Nothing if there was none, or if it computed other values.
    pub async fn load(&mut self, binding: &Binding, dataset: &Dataset) -> BTreeMap<u64, Staged> {
        let content = self.checkpoint.load::<Content>().await;
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
        self.checkpoint.lasting(paths).await
    }

    /// Writes the checkpoint, unless that has just happened.
    pub async fn save(&mut self, binding: &Binding, staged: &BTreeMap<u64, Staged>) {
        if self.checkpoint.is_due() {
            self.save_now(binding, staged).await;
        }
    }

    pub fn is_saved(&self) -> bool {
        self.checkpoint.is_saved()
    }

    /// Writes the checkpoint.
    pub async fn save_now(&mut self, binding: &Binding, staged: &BTreeMap<u64, Staged>) {
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
        // A write that fails may still take effect.
        self.remember(staged);
        let files = self.files.iter().cloned().collect();
        self.checkpoint.write(files, &content).await;
    }

    /// A version may name the files from here on. Code 17 if the job is cancelled.
    pub async fn begin_commit(&self) -> Result<()> {
        self.checkpoint.begin_commit().await
    }

    fn remember(&mut self, staged: &BTreeMap<u64, Staged>) {
        let paths = staged.values().map(|one| one.group.1.path.clone());
        self.files.extend(paths);
    }

    /// The job has ended.
    pub async fn remove(&self) {
        self.checkpoint.remove().await;
    }
}
