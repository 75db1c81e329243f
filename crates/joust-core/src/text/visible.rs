//! The rows of some fragments that exist at a version.

use std::sync::Arc;

use lance::Dataset;
use lance::index::prefilter::DatasetPreFilter;
use lance_table::format::Fragment;
use roaring::RoaringBitmap;

use crate::cache::identity;
use crate::error::Result;

/// The exact state of some fragments: equal states have the same rows.
pub type Fragments = Arc<str>;

/// The fragments of a version that are in `wanted`.
pub fn present<'a>(
    dataset: &'a Dataset,
    wanted: &'a RoaringBitmap,
) -> impl Iterator<Item = &'a Fragment> {
    dataset
        .manifest()
        .fragments
        .iter()
        .filter(|fragment| wanted.contains(fragment.id as u32))
}

/// The identity of fragments and of their deletions. A fragment of another branch or of a later table has other files,
/// and so has one with a rewritten column.
pub fn state(dataset: &Dataset, wanted: &RoaringBitmap) -> Fragments {
    use std::fmt::Write;
    let mut state = String::new();
    for fragment in present(dataset, wanted) {
        state += &identity(fragment);
        if let Some(deleted) = &fragment.deletion_file {
            let _ = write!(state, "-{}.{}", deleted.read_version, deleted.id);
        }
        state.push(';');
    }
    state.into()
}

/// Whether a row is in one of the fragments.
///
/// If no row is marked as deleted, Lance assumes that all rows of an index exist. That is wrong after a compaction: it
/// removes deleted rows from the fragments, and the segment still has them. So this also asks for a fragment id that no
/// table has, which makes Lance check the existing rows.
pub async fn rows(
    dataset: &Arc<Dataset>,
    mut fragments: RoaringBitmap,
) -> Result<impl Fn(u64) -> bool + Send + Sync + use<>> {
    const NONE: u32 = u32::MAX;
    fragments.insert(NONE);
    let mask = DatasetPreFilter::create_restricted_deletion_mask(dataset.clone(), fragments);
    let mask = match mask {
        Some(mask) => Some(mask.await?),
        None => None,
    };
    Ok(move |row| mask.as_ref().is_none_or(|mask| mask.selected(row)))
}
