//! The caches of vector searches, over all tables.

use std::sync::Arc;

use lance::Dataset;
use lance::dataset::scanner::RowAddrMask;

use super::opened_index::Indexed;
use super::prefilter_mask;
use super::shared_scan::SharedScan;
use crate::cache::RowCaches;
use crate::cache::filtered;
use crate::error::Result;
use crate::schema::expression::Expression;
use crate::version_key::VersionKey;
use crate::weighted_cache::WeightedCache;

/// Opened indexes are handles: their partitions are in the index cache.
pub struct VectorCaches {
    rows: Arc<RowCaches>,
    indexes: WeightedCache<(VersionKey, i32), Arc<Indexed>>,
    /// The rows that satisfy a filter, by its SQL.
    masks: WeightedCache<(VersionKey, String), Arc<RowAddrMask>>,
    pub(super) shared_scan: SharedScan,
}

impl VectorCaches {
    /// `budget`: bytes for rows, of which these take the part that [`RowCaches`](crate::cache::RowCaches)
    /// leaves.
    pub fn new(budget: usize, rows: Arc<RowCaches>) -> Self {
        let share = |percent: usize| budget / 100 * percent;
        Self {
            rows,
            indexes: WeightedCache::new(share(1)),
            masks: WeightedCache::new(share(6)),
            shared_scan: SharedScan::default(),
        }
    }

    /// The rows that searches read.
    pub fn rows(&self) -> &RowCaches {
        &self.rows
    }

    /// The index on a column, opened once for each version.
    pub async fn index(
        &self,
        dataset: &Arc<Dataset>,
        column: &str,
        field: i32,
    ) -> Result<Arc<Indexed>> {
        let make = async || {
            let indexed = Indexed::of(dataset, column, field).await?;
            let weight = match &indexed {
                Indexed::Open(opened) => opened.metadata.len() * 4_096,
                _ => 0,
            };
            Ok((Arc::new(indexed), weight))
        };
        self.indexes
            .get(&(VersionKey::of(dataset), field), make)
            .await
    }

    /// The rows that satisfy a filter.
    pub async fn mask(
        &self,
        dataset: &Arc<Dataset>,
        filter: &Expression,
    ) -> Result<Arc<RowAddrMask>> {
        let make = async || {
            let rows = filtered(dataset, filter, &self.rows).await?;
            let weight = rows.serialized_size() + filter.sql().len();
            Ok((Arc::new(prefilter_mask::mask(&rows)), weight))
        };
        if !filter.is_immutable() {
            return make().await.map(|(mask, _)| mask);
        }
        let key = (VersionKey::of(dataset), filter.sql().to_string());
        self.masks.get(&key, make).await
    }
}
