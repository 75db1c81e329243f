//! Rows that an index holds and the table does not.
//!
//! With stable row ids a compaction leaves an index as it is. Lance's search passes over rows whose deletion
//! a fragment records; a compaction takes these records away with the rows, and the search then finds
//! them, in the place of others. Here it is told which rows there are.

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

/// Whether indexes may hold rows that are gone without a trace.
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
        // Lance takes a clean index for one that holds no other rows, and looks closer when a fragment of
        // it seems to be missing.
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

/// Has a search for texts find rows of the table only.
///
/// It is told before it is planned, as a search by vector can't be that takes several at once: the plan of a
/// search for texts has many kinds of parts, some of which take nothing later.
pub async fn tell(scanner: &mut Scanner, dataset: &Arc<Dataset>) -> lance::Result<()> {
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
    // What Lance has told the search of overlays could not be told again.
    let mut fragments = dataset.manifest().fragments.iter();
    let has_overlays = fragments.any(|own| !own.overlays.is_empty());
    if has_overlays || !plan.exists(|node| Ok(is_search(node)))? {
        return Ok(plan);
    }
    let Some(living) = living(dataset).await? else {
        return Ok(plan);
    };
    let all = all(dataset).await?;
    let told = plan.transform_up(|node| told(node, &living, &all))?;
    Ok(told.data)
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

/// A search that is told which rows there are: `living`, or `all`.
fn told(
    node: Arc<dyn ExecutionPlan>,
    living: &Arc<RowAddrMask>,
    all: &Arc<dyn ExecutionPlan>,
) -> Result<Transformed<Arc<dyn ExecutionPlan>>, DataFusionError> {
    if let Some(search) = node.downcast_ref::<ANNIvfSubIndexExec>()
        && let Some(partitions) = search.children().first()
    {
        let told = ANNIvfSubIndexExec::try_new(
            Arc::clone(partitions),
            search.dataset().clone(),
            search.indices().to_vec(),
            search.query().clone(),
            search.prefilter_source().clone(),
        )?;
        let told = told.with_external_mask(Some(living.clone()));
        return Ok(Transformed::yes(Arc::new(told)));
    }
    // One for several vectors takes no mask, but what a filter leaves.
    if let Some(search) = node.downcast_ref::<ANNIvfBatchExec>()
        && matches!(search.prefilter_source(), PreFilterSource::None)
    {
        let told = ANNIvfBatchExec::try_new(
            search.dataset().clone(),
            search.indices().to_vec(),
            search.query().clone(),
            search.query_count(),
            PreFilterSource::FilteredRowIds(all.clone()),
        )?;
        return Ok(Transformed::yes(Arc::new(told)));
    }
    Ok(Transformed::no(node))
}
