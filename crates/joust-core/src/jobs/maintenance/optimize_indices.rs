//! Index optimization: adds to indexes the rows that were written after their build (`optimize_indices` in Lance).

use std::sync::Arc;

use lance::index::DatasetIndexExt;
use lance_index::optimize::OptimizeOptions;
use tracing::{Instrument, info_span};

use super::former_texts;
use crate::commit::{Attempts, Policy, always_lost};
use crate::error::Result;
use crate::index::{IndexDescription, Kind, Reporter};
use crate::table::{ReadOptions, Table};
use crate::text;
use crate::work::WorkContext;

/// An index with this many segments gets one merged segment, because a search visits each.
const MOST_SEGMENTS: u64 = 8;

/// The result of an index optimization.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OptimizedIndices {
    pub indexes: Vec<String>,
    /// `None` if there was nothing to do.
    pub published_version: Option<u64>,
}

impl Table {
    /// Adds missing rows to all indexes, as new segments. Merges the segments of an index if there are many.
    pub async fn optimize_indices(&self, work: &WorkContext) -> Result<OptimizedIndices> {
        let mut done = OptimizedIndices::default();
        let behind = self.list_indices(ReadOptions::default()).await?;
        let mut memory = None;
        for index in &behind {
            let is_text = index.index_type == Kind::Text.name();
            // The segments of a text index may be merged without a missing row.
            if memory.is_none() && (is_text || index.num_unindexed_rows > 0) {
                let report = |stage: &str| work.report(stage, 0, None);
                memory = Some(self.memory_for_job(0, report).await);
            }
            if is_text {
                let optimize = text::optimize_index(self, &index.name, self.caches()?.text(), work);
                if let Some(version) = optimize.instrument(info_span!("optimize index")).await? {
                    done.published_version = Some(version);
                    done.indexes.push(index.name.clone());
                }
                continue;
            }
            if index.num_unindexed_rows == 0 {
                continue;
            }
            let optimize = self.optimize(index, work);
            if let Some(version) = optimize.instrument(info_span!("optimize index")).await? {
                done.published_version = Some(version);
                done.indexes.push(index.name.clone());
            }
        }
        Ok(done)
    }

    async fn optimize(&self, index: &IndexDescription, work: &WorkContext) -> Result<Option<u64>> {
        let mut attempts = Attempts::at(Policy::OptimizeIndices);
        loop {
            let (mut dataset, _version) = self.copy_of_newest().await?;
            let before = dataset.version_id();
            let is_text = index.index_type == Kind::Inverted.name();
            let in_one = index.num_segments >= MOST_SEGMENTS
                || is_text && former_texts::are_held(&dataset, &index.name).await?;
            let options = match in_one {
                true => OptimizeOptions::merge(index.num_segments as usize),
                false => OptimizeOptions::append(),
            };
            let options = &options
                .index_names(vec![index.name.clone()])
                .progress(Arc::new(Reporter::new(work.clone())));
            let optimize = dataset.optimize_indices(options);
            match self
                .commit_work(Policy::OptimizeIndices, work, optimize)
                .await
            {
                Ok(()) if dataset.version_id() == before => return Ok(None),
                Ok(()) => return Ok(Some(self.committed(dataset))),
                Err(error) => attempts
                    .lost(error.into())
                    .await
                    .map_err(always_lost("table"))?,
            }
        }
    }
}
