//! The prefilter mask: which rows of an index a search may return.

use std::sync::Arc;

use async_trait::async_trait;
use lance::dataset::scanner::{RowAddrMask, RowAddrTreeMap};
use lance_index::prefilter::{NoFilter, PreFilter};
use roaring::RoaringTreemap;

/// Rows of a segment of an index: those that are alive and still its own, and of these the ones that a
/// filter leaves.
pub fn prefilter(
    owned: Option<&Arc<RowAddrMask>>,
    filter: Option<&Arc<RowAddrMask>>,
) -> Arc<dyn PreFilter> {
    let mask = match (owned, filter) {
        (None, None) => return Arc::new(NoFilter),
        (Some(owned), None) => owned.clone(),
        (None, Some(filter)) => filter.clone(),
        (Some(owned), Some(filter)) => Arc::new(owned.as_ref().clone() & filter.as_ref().clone()),
    };
    Arc::new(PrefilterMask {
        mask,
        filtered: filter.is_some(),
    })
}

/// Rows by their ids.
pub fn mask(rows: &RoaringTreemap) -> RowAddrMask {
    let mut allowed = RowAddrTreeMap::new();
    for (high, rows) in rows.bitmaps() {
        allowed.insert_bitmap(high, rows.clone());
    }
    RowAddrMask::from_allowed(allowed)
}

struct PrefilterMask {
    mask: Arc<RowAddrMask>,
    filtered: bool,
}

#[async_trait]
impl PreFilter for PrefilterMask {
    async fn wait_for_ready(&self) -> lance::Result<()> {
        Ok(())
    }

    fn is_empty(&self) -> bool {
        false
    }

    // Lance searches a partition without checking each row if the mask has all of them; with a filter that is
    // rare.
    fn needs_partition_row_ids(&self) -> bool {
        !self.filtered
    }

    fn is_empty_for(&self, rows: &RowAddrTreeMap) -> bool {
        !self.filtered && self.mask.selects_all(rows)
    }

    fn mask(&self) -> Arc<RowAddrMask> {
        self.mask.clone()
    }

    fn filter_row_ids<'a>(&self, row_ids: Box<dyn Iterator<Item = &'a u64> + 'a>) -> Vec<u64> {
        self.mask.selected_indices(row_ids)
    }
}
