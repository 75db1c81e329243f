//! Detects texts in a native index that its rows no longer contain.
//!
//! With stable row ids an updated row keeps its id. Lance's text index (`INVERTED`) still has the previous words of the
//! row under that id, in the part that covered it. Searches ignore them as long as no part covers the new fragment of
//! the row. If another part covered it, the row would match with both texts.

use lance::Dataset;
use lance::index::DatasetIndexExt;
use lance_core::{ROW_CREATED_AT_VERSION, ROW_LAST_UPDATED_AT_VERSION};
use roaring::RoaringBitmap;

use crate::error::Result;

/// Whether uncovered rows were updated, so that the index may contain their previous texts. Its parts must then be
/// merged; the merge only keeps the rows that each part still covers. The creation version of a part does not show
/// whether a row was in it: a merged part has the version of its oldest source.
pub async fn are_held(dataset: &Dataset, index: &str) -> Result<bool> {
    if !dataset.manifest().uses_stable_row_ids() {
        return Ok(false);
    }
    let parts = dataset.load_indices_by_name(index).await?;
    let parts = parts.into_iter().filter_map(|part| part.fragment_bitmap);
    let covered = parts.fold(RoaringBitmap::new(), |all, part| all | part);
    let fragments = dataset.manifest().fragments.iter();
    let outside = fragments.filter(|fragment| !covered.contains(fragment.id as u32));
    let mut scanner = dataset.scan();
    scanner.with_fragments(outside.cloned().collect());
    scanner.project::<&str>(&[])?;
    scanner.with_row_id();
    scanner.filter(&format!(
        "{ROW_LAST_UPDATED_AT_VERSION} > {ROW_CREATED_AT_VERSION}"
    ))?;
    Ok(scanner.count_rows().await? > 0)
}
