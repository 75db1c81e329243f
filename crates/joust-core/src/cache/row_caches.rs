//! The caches of rows and columns, over all tables, with their shares of the budget.

use std::sync::Arc;

use arrow::array::ArrayRef;
use lance::Dataset;
use lance_core::datatypes::Field;
use roaring::RoaringTreemap;

use super::column::Column;
use super::decoded_columns::DecodedColumns;
use super::filter_prefix::FilterPrefix;
use super::row_addresses::RowAddresses;
use super::row_cache::{MOST_BYTES, RecentRows};
use super::row_liveness::{Fragment, RowLiveness};
use super::sorted_lookup::{SortedLookup, can_look_up};
use crate::error::Result;
use crate::version_key::VersionKey;
use crate::weighted_cache::WeightedCache;

/// Each cache is bounded by bytes. Evicted entries are computed again.
pub struct RowCaches {
    budget: usize,
    /// Whole columns.
    pub decoded: DecodedColumns,
    /// Rows that were returned, by requested columns.
    row_cache: WeightedCache<(VersionKey, String), Arc<RecentRows>>,
    /// Bytes of each entry.
    row_cache_entry_bytes: usize,
    addresses: WeightedCache<VersionKey, Arc<RowAddresses>>,
    row_liveness: WeightedCache<VersionKey, Arc<RowLiveness>>,
    fragments: WeightedCache<String, Arc<Fragment>>,
    /// By the address of the array, which the entry holds.
    sorted_lookup: WeightedCache<usize, Arc<(ArrayRef, SortedLookup)>>,
    filter_prefixes: WeightedCache<(VersionKey, String), Arc<FilterPrefix>>,
    /// The rows that satisfy a filter, by its SQL.
    pub(super) filters: WeightedCache<(VersionKey, String), Arc<RoaringTreemap>>,
}

impl RowCaches {
    /// `budget`: bytes for rows and their lookup structures, half of it for whole columns; 0 turns the caches off.
    pub fn new(budget: usize) -> Self {
        let share = |percent: usize| budget / 100 * percent;
        Self {
            budget,
            decoded: DecodedColumns::new(share(50)),
            row_cache: WeightedCache::new(share(22)),
            row_cache_entry_bytes: (share(22) / 8).min(MOST_BYTES),
            addresses: WeightedCache::new(share(2)),
            row_liveness: WeightedCache::new(share(1)),
            fragments: WeightedCache::new(share(4)),
            sorted_lookup: WeightedCache::new(share(6)),
            filter_prefixes: WeightedCache::new(share(2)),
            filters: WeightedCache::new(share(6)),
        }
    }

    /// Whether rows are cached.
    pub fn is_on(&self) -> bool {
        self.budget > 0
    }

    /// Recently read rows of a version, by columns.
    pub(super) async fn row_cache(
        &self,
        state: VersionKey,
        columns: String,
    ) -> Result<Arc<RecentRows>> {
        // Each entry counts as full.
        let each = self.row_cache_entry_bytes;
        let make = async || Ok((Arc::new(RecentRows::new(each)), each));
        self.row_cache.get(&(state, columns), make).await
    }

    pub async fn addresses(&self, dataset: &Dataset) -> Result<Arc<RowAddresses>> {
        let make = async || {
            let addresses = RowAddresses::of(dataset).await?;
            let weight = addresses.weight();
            Ok((Arc::new(addresses), weight))
        };
        self.addresses.get(&VersionKey::of(dataset), make).await
    }

    /// The sorted lookup of a fragment's column.
    pub(super) async fn sorted_lookup(
        &self,
        column: &ArrayRef,
    ) -> Result<Arc<(ArrayRef, SortedLookup)>> {
        let make = async || {
            let lookup = SortedLookup::of(column)?;
            let weight = lookup.weight(column);
            Ok((Arc::new((column.clone(), lookup)), weight))
        };
        self.sorted_lookup.get(&address(column), make).await
    }

    /// Whether the sorted lookups of all fragments fit at once. If not, each would evict another one that the next
    /// query needs, and be built again for every query.
    pub(super) fn sorted_lookups_fit(&self, column: &Column) -> bool {
        // Half of the capacity is for other columns.
        let capacity = self.sorted_lookup.capacity() / 2;
        let all = |weight: &dyn Fn(&ArrayRef) -> usize| -> usize {
            column.fragments.iter().map(weight).sum()
        };
        let weight = |column: &ArrayRef| match self.sorted_lookup.cached(&address(column)) {
            Some(known) => known.1.weight(column),
            None => SortedLookup::weight_of(column),
        };
        // A version differs from the previous one in few fragments: only the values of these are read.
        let fit = || all(&SortedLookup::most) <= capacity || all(&weight) <= capacity;
        *column.sorted_lookups_fit.get_or_init(fit)
    }

    /// The cached prefix of a filter that was requested before.
    pub(super) fn cached_filter_prefix(
        &self,
        dataset: &Dataset,
        filter: &str,
    ) -> Option<Arc<FilterPrefix>> {
        self.filter_prefixes
            .cached(&(VersionKey::of(dataset), filter.to_string()))
    }

    /// Builds the sorted lookups of a column, where rows are looked up by it.
    pub async fn prepare_lookups(&self, field: &Field, column: &Column) -> Result<()> {
        if can_look_up(field, column.fragments.len()) && self.sorted_lookups_fit(column) {
            for values in &column.fragments {
                self.sorted_lookup(values).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn filter_prefix(
        &self,
        dataset: &Dataset,
        filter: &str,
    ) -> Result<Arc<FilterPrefix>> {
        const WEIGHT: usize = 2_048;
        let key = (VersionKey::of(dataset), filter.to_string());
        let make = async || Ok((Arc::default(), WEIGHT + filter.len()));
        self.filter_prefixes.get(&key, make).await
    }

    pub async fn row_liveness(&self, dataset: &Dataset) -> Result<Arc<RowLiveness>> {
        let make = async || {
            let live = RowLiveness::of(dataset, &self.fragments).await?;
            let weight = live.weight();
            Ok((Arc::new(live), weight))
        };
        self.row_liveness.get(&VersionKey::of(dataset), make).await
    }
}

/// Identifies an array while it is cached.
fn address(column: &ArrayRef) -> usize {
    Arc::as_ptr(column).cast::<()>() as usize
}

#[cfg(test)]
mod tests {
    use arrow::array::Int64Array;

    use super::*;

    #[test]
    fn a_sorted_lookup_is_cached_for_all_fragments_or_none() {
        let caches = RowCaches::new(100_000);
        let column = |orders: &[bool]| {
            let fragments = orders.iter().map(|is_in_order| {
                let values = (0..200).map(|row| if *is_in_order { row } else { -row });
                Arc::new(Int64Array::from_iter_values(values)) as ArrayRef
            });
            Column::new(fragments.collect())
        };
        assert!(caches.sorted_lookups_fit(&column(&[false])));
        assert!(!caches.sorted_lookups_fit(&column(&[false, false])));
        assert!(caches.sorted_lookups_fit(&column(&[true, false, true])));
    }
}
