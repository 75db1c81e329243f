//! Stale index rows: rows that an index contains and the table does not.
//!
//! With stable row ids a compaction does not change an index. Lance's search skips rows whose deletion a fragment
//! records. A compaction removes these records with the rows, and the search then returns the deleted rows in
//! place of others. Here the search gets a mask of the rows of the table.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::DataFusionError;
use datafusion::physical_plan::ExecutionPlan;
use lance::Dataset;
use lance::dataset::scanner::{RowAddrMask, Scanner};
use lance::index::prefilter::DatasetPreFilter;
use lance::io::exec::{ANNIvfBatchExec, ANNIvfSubIndexExec, PreFilterSource};
use lance_table::format::Fragment;
use roaring::RoaringBitmap;

/// A fragment that no table has.
const MISSING: u32 = u32::MAX;

/// Whether indexes may contain rows whose deletion is no longer recorded.
pub fn may_be_held(dataset: &Dataset) -> bool {
    let manifest = dataset.manifest();
    let alive: Option<usize> = manifest.fragments.iter().map(Fragment::num_rows).sum();
    manifest.uses_stable_row_ids() && alive.map(|rows| rows as u64) != Some(manifest.next_row_id)
}

/// The rows of some fragments that are alive; `None`: all that an index of them holds.
pub async fn alive(
    dataset: &Arc<Dataset>,
    mut fragments: RoaringBitmap,
) -> lance::Result<Option<Arc<RowAddrMask>>> {
    if may_be_held(dataset) {
        // Lance assumes that an index without deletions contains no stale rows, and checks only when one of its
        // fragments is missing.
        fragments.insert(MISSING);
    }
    match DatasetPreFilter::create_restricted_deletion_mask(dataset.clone(), fragments) {
        Some(mask) => mask.await.map(Some),
        None => Ok(None),
    }
}

/// The rows of the table; `None`: no index holds others that Lance would find.
pub async fn living(dataset: &Arc<Dataset>) -> lance::Result<Option<Arc<RowAddrMask>>> {
    if !may_be_held(dataset) {
        return Ok(None);
    }
    let fragments = dataset.manifest().fragments.iter();
    alive(dataset, fragments.map(|own| own.id as u32).collect()).await
}

/// Restricts a text search to rows of the table.
///
/// The mask is set before planning, because some operators of the plan of a text search take none later. A batch
/// vector search cannot take it before planning.
pub async fn restrict_scan(scanner: &mut Scanner, dataset: &Arc<Dataset>) -> lance::Result<()> {
    if let Some(living) = living(dataset).await? {
        scanner.with_row_id_prefilter(living.as_ref().clone());
    }
    Ok(())
}

/// The plan of a scan. A search by vector through an index finds rows of the table only.
pub async fn plan(
    scanner: &Scanner,
    dataset: &Arc<Dataset>,
) -> lance::Result<Arc<dyn ExecutionPlan>> {
    let plan = scanner.create_plan().await?;
    // A rebuilt search would lose its overlays.
    let mut fragments = dataset.manifest().fragments.iter();
    let has_overlays = fragments.any(|own| !own.overlays.is_empty());
    if has_overlays || !plan.exists(|node| Ok(is_search(node)))? {
        return Ok(plan);
    }
    let Some(living) = living(dataset).await? else {
        return Ok(plan);
    };
    let all = all(dataset).await?;
    let restricted = plan.transform_up(|node| restrict_search(node, &living, &all))?;
    Ok(restricted.data)
}

fn is_search(node: &Arc<dyn ExecutionPlan>) -> bool {
    node.is::<ANNIvfSubIndexExec>() || node.is::<ANNIvfBatchExec>()
}

/// The ids of all rows.
async fn all(dataset: &Arc<Dataset>) -> lance::Result<Arc<dyn ExecutionPlan>> {
    let mut ids = Scanner::new(dataset.clone());
    ids.project::<&str>(&[])?;
    ids.with_row_id();
    ids.create_plan().await
}

/// A search that is restricted to the rows of the table: `living`, or `all`.
fn restrict_search(
    node: Arc<dyn ExecutionPlan>,
    living: &Arc<RowAddrMask>,
    all: &Arc<dyn ExecutionPlan>,
) -> Result<Transformed<Arc<dyn ExecutionPlan>>, DataFusionError> {
    if let Some(search) = node.downcast_ref::<ANNIvfSubIndexExec>()
        && let Some(partitions) = search.children().first()
    {
        let restricted = ANNIvfSubIndexExec::try_new(
            Arc::clone(partitions),
            search.dataset().clone(),
            search.indices().to_vec(),
            search.query().clone(),
            search.prefilter_source().clone(),
        )?;
        let restricted = restricted.with_external_mask(Some(living.clone()));
        return Ok(Transformed::yes(Arc::new(restricted)));
    }
    // A batch search takes no mask, but the row ids of a filter.
    if let Some(search) = node.downcast_ref::<ANNIvfBatchExec>()
        && matches!(search.prefilter_source(), PreFilterSource::None)
    {
        let restricted = ANNIvfBatchExec::try_new(
            search.dataset().clone(),
            search.indices().to_vec(),
            search.query().clone(),
            search.query_count(),
            PreFilterSource::FilteredRowIds(all.clone()),
        )?;
        return Ok(Transformed::yes(Arc::new(restricted)));
    }
    Ok(Transformed::no(node))
}
