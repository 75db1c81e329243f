//! The segments of a build until they are committed.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use lance::Dataset;
use uuid::Uuid;

use super::segment::Segment;
use crate::error::Result;
use crate::table::Table;
use crate::text::{self, remove_segment};

/// Segments of workers. Dropping this removes their files, unless they are committed.
pub struct Staging {
    table: Table,
    dataset: Arc<Dataset>,
    pub segments: Vec<Segment>,
    /// The segment into which they were merged.
    pub merged: Option<Uuid>,
    /// A version may name the segments, so they must stay.
    pub committing: bool,
}

impl Staging {
    pub fn new(table: Table, dataset: Arc<Dataset>) -> Self {
        Self {
            table,
            dataset,
            segments: Vec::new(),
            merged: None,
            committing: false,
        }
    }

    /// The fragments that have a segment.
    pub fn fragments(&self) -> HashSet<u64> {
        let fragments = self.segments.iter().flat_map(|one| &one.fragments);
        fragments.copied().collect()
    }

    pub fn uuids(&self) -> impl Iterator<Item = Uuid> {
        self.segments.iter().map(|segment| segment.entry.uuid)
    }

    /// Removes the segments that do not fit the newest version. Returns whether all did.
    pub async fn retain_fitting(
        &mut self,
        newest: &Dataset,
        fields: &BTreeSet<i32>,
    ) -> Result<bool> {
        // A worker may have given the directory of another index, which was committed later.
        let named = uuids(newest).await?;
        let mut unfit = HashSet::new();
        for segment in &self.segments {
            let uuid = segment.entry.uuid;
            if named.contains(&uuid) || !segment.fits(newest, fields).await? {
                unfit.insert(uuid);
            }
        }
        self.segments
            .retain(|segment| !unfit.contains(&segment.entry.uuid));
        for uuid in unfit.difference(&named) {
            remove_segment(&self.dataset, *uuid).await;
        }
        Ok(unfit.is_empty())
    }

    /// The commit has failed, so that the segments are merged again.
    pub async fn remove_merged(&mut self) {
        self.committing = false;
        if let Some(uuid) = self.merged.take() {
            remove_segment(&self.dataset, uuid).await;
        }
    }

    /// The commit has taken effect: removes the segments that were merged. Returns the number of segments.
    pub async fn finish(&mut self) -> u64 {
        if self.merged.is_some() {
            let uuids = self.uuids().collect();
            remove_unnamed(&self.table, &self.dataset, uuids).await;
        }
        self.segments.len() as u64
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if self.committing {
            return;
        }
        let uuids: Vec<Uuid> = self.uuids().chain(self.merged).collect();
        let (table, dataset) = (self.table.clone(), self.dataset.clone());
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { remove_unnamed(&table, &dataset, uuids).await });
        }
    }
}

/// The directories of indexes that a version names.
pub async fn uuids(dataset: &Dataset) -> Result<HashSet<Uuid>> {
    let entries = text::all_entries(dataset).await?;
    Ok(entries.iter().map(|entry| entry.uuid).collect())
}

/// Removes the directories that the newest version does not name. Version clean-up removes remaining ones.
async fn remove_unnamed(table: &Table, dataset: &Dataset, directories: Vec<Uuid>) {
    if directories.is_empty() {
        return;
    }
    let Ok(newest) = table.newest().await else {
        return;
    };
    let Ok(named) = uuids(&newest).await else {
        return;
    };
    for uuid in directories {
        if !named.contains(&uuid) {
            remove_segment(dataset, uuid).await;
        }
    }
}
