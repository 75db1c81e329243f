//! What vector searches keep, over all tables.

use std::sync::Arc;

use lance::Dataset;
use lance::dataset::scanner::RowAddrMask;

use super::allowed;
use super::index::Indexed;
use super::passes::Passes;
use crate::cache::Caches;
use crate::error::Result;
use crate::memo::Memo;
use crate::rows::filtered;
use crate::schema::expression::Expression;
use crate::state::State;

/// Opened indexes are handles: their partitions are in the index cache.
pub struct VectorCaches {
    indexes: Memo<(State, i32), Arc<Indexed>>,
    /// The rows that a filter leaves, by its text.
    masks: Memo<(State, String), Arc<RowAddrMask>>,
    pub(super) passes: Passes,
}

impl VectorCaches {
    /// `budget`: bytes for rows, of which these take the part that [`RowCaches`](crate::rows::RowCaches)
    /// leaves.
    pub fn new(budget: usize) -> Self {
        let share = |percent: usize| budget / 100 * percent;
        Self {
            indexes: Memo::new(share(1)),
            masks: Memo::new(share(6)),
            passes: Passes::default(),
        }
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
        self.indexes.get(&(State::of(dataset), field), make).await
    }

    /// The rows that satisfy a filter.
    pub async fn mask(
        &self,
        dataset: &Arc<Dataset>,
        filter: &Expression,
        caches: &Caches,
    ) -> Result<Arc<RowAddrMask>> {
        let make = async || {
            let rows = filtered(dataset, filter, caches.rows()).await?;
            let weight = rows.serialized_size() + filter.sql().len();
            Ok((Arc::new(allowed::mask(&rows)), weight))
        };
        if !filter.is_immutable() {
            return make().await.map(|(mask, _)| mask);
        }
        let key = (State::of(dataset), filter.sql().to_string());
        self.masks.get(&key, make).await
    }
}
