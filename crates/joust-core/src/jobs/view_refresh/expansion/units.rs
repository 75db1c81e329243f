//! The fragments of a source that a refresh has computed, for the next run of its job.

use std::collections::HashSet;

use lance::Dataset;
use lance_table::format::Fragment;
use object_store::path::Path;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::jobs::checkpoint::Checkpoint;
use crate::jobs::row_failures::{MOST_FAILURES, RowFailure};

/// The rows of a view that come from one fragment of its source, in files that no version names.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Unit {
    /// The fragment of the source. Another state of it has other rows.
    pub source: Fragment,
    pub fragments: Vec<Fragment>,
    pub rows: u64,
    /// Rows of the source that the function got.
    pub called: u64,
    /// Those of them for which it failed.
    pub failed: u64,
    /// The first of them.
    pub failures: Vec<RowFailure>,
}

/// The rows of the source for which the function failed.
#[derive(Debug, Default)]
pub struct Failures {
    /// The first of them.
    pub rows: Vec<RowFailure>,
    /// Fragments with such rows, and the number of these.
    pub fragments: Vec<(u64, u64)>,
}

impl Failures {
    fn of(units: &[Unit]) -> Self {
        let rows = units.iter().flat_map(|unit| unit.failures.iter().cloned());
        let failed = units.iter().filter(|unit| unit.failed > 0);
        Self {
            rows: rows.take(MOST_FAILURES).collect(),
            fragments: failed.map(|unit| (unit.source.id, unit.failed)).collect(),
        }
    }

    /// Those that an earlier run of the job has found. It committed, or another refresh did.
    pub async fn of_earlier_run(checkpoint: &Checkpoint) -> Self {
        let content: Option<Content> = checkpoint.load().await;
        content.map_or_else(Self::default, |content| Self::of(&content.units))
    }
}

/// The computed fragments of a refresh.
pub struct Units {
    done: Vec<Unit>,
    /// Absent if no later run can continue.
    checkpoint: Option<Checkpoint>,
    /// What is computed: units of another computation have other rows.
    identity: String,
}

#[derive(Serialize, Deserialize)]
struct Content {
    computation: String,
    units: Vec<Unit>,
}

impl Units {
    /// With the units of earlier runs of the same computation.
    pub async fn new(checkpoint: Option<Checkpoint>, identity: String) -> Self {
        let content: Option<Content> = match &checkpoint {
            Some(checkpoint) => checkpoint.load().await,
            None => None,
        };
        let content = content.filter(|content| content.computation == identity);
        Self {
            done: content.map(|content| content.units).unwrap_or_default(),
            checkpoint,
            identity,
        }
    }

    /// Keeps the units of these fragments; returns the fragments that have none.
    pub fn missing(&mut self, fragments: &[Fragment]) -> Vec<Fragment> {
        self.done.retain(|unit| fragments.contains(&unit.source));
        let is_done = |fragment: &Fragment| self.done.iter().any(|unit| unit.source == *fragment);
        let missing = fragments.iter().filter(|fragment| !is_done(fragment));
        missing.cloned().collect()
    }

    pub async fn add(&mut self, mut unit: Unit) {
        let reported: usize = self.done.iter().map(|one| one.failures.len()).sum();
        unit.failures
            .truncate(MOST_FAILURES.saturating_sub(reported));
        self.done.push(unit);
        if self.checkpoint.as_mut().is_some_and(Checkpoint::is_due) {
            self.save().await;
        }
    }

    /// Whether the checkpoint, if there is one, has all units.
    pub fn is_saved(&self) -> bool {
        self.checkpoint.as_ref().is_none_or(Checkpoint::is_saved)
    }

    /// Writes the checkpoint now.
    pub async fn save(&mut self) {
        if let Some(checkpoint) = &mut self.checkpoint {
            let fragments = self.done.iter().flat_map(|unit| &unit.fragments);
            let files = fragments.flat_map(|fragment| &fragment.files);
            let files = files.map(|file| file.path.clone()).collect();
            let content = Content {
                computation: self.identity.clone(),
                units: self.done.clone(),
            };
            checkpoint.write(files, &content).await;
        }
    }

    /// Forgets the units whose files version clean-up has removed or is about to remove: the work may take days. Returns
    /// whether all are there.
    pub async fn check(&mut self, view: &Dataset) -> Result<bool> {
        let Some(checkpoint) = &self.checkpoint else {
            return Ok(true);
        };
        let data = view.data_dir();
        let paths = |unit: &Unit| -> Vec<Path> {
            let files = unit.fragments.iter().flat_map(|one| &one.files);
            files
                .map(|file| data.clone().join(file.path.as_str()))
                .collect()
        };
        let all: Vec<Path> = self.done.iter().flat_map(paths).collect();
        let lasting: HashSet<Path> = checkpoint.lasting(all.into_iter()).await?;
        let before = self.done.len();
        self.done
            .retain(|unit| paths(unit).iter().all(|path| lasting.contains(path)));
        Ok(self.done.len() == before)
    }

    pub fn done(&self) -> &[Unit] {
        &self.done
    }

    pub fn failures(&self) -> Failures {
        Failures::of(&self.done)
    }

    /// The checkpoint, which the commit makes useless.
    pub fn into_checkpoint(self) -> Option<Checkpoint> {
        self.checkpoint
    }
}
