//! Texts that a native index holds and its rows do not.
//!
//! With stable row ids a changed row keeps its id. Lance's index for texts (`INVERTED`) holds the row's words
//! of before under that id, in the part that covered it; searches pass over them for as long as no part covers
//! the row where it is now. A part that did, beside the one of before, would have it found by both.

use lance::Dataset;
use lance::index::DatasetIndexExt;
use lance_core::{ROW_CREATED_AT_VERSION, ROW_LAST_UPDATED_AT_VERSION};
use roaring::RoaringBitmap;

use crate::error::Result;

/// Whether rows that an index does not cover were changed, so that it may hold what they said before: its
/// parts have to become one, which Lance makes of the rows that each still covers. When a part was made does
/// not tell whether a row was in it: one that was made of others has the oldest one's version.
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
