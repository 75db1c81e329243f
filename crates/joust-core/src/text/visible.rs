//! Which rows of some fragments are alive at a version.

use std::sync::Arc;

use lance::Dataset;
use lance::index::prefilter::DatasetPreFilter;
use lance_table::format::Fragment;
use roaring::RoaringBitmap;

use crate::cache::identity;
use crate::error::Result;

/// The state of some fragments, exactly: the same state has the same rows alive.
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

/// Identity of fragments and of what has been deleted from them. A fragment of another branch or of a
/// later table has other files, and so has one of which a column was filled anew.
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

/// Whether a row lives in one of the fragments.
///
/// Where no row is marked as deleted Lance takes all rows of an index to be alive. They need not be:
/// compaction takes deleted rows out of the fragments, and they stay in the segment. So it is asked for
/// a fragment that no table has as well, which makes it look at the rows that there are.
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
