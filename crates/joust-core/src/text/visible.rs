//! Which rows of some fragments are alive at a version.

use std::sync::Arc;

use lance::Dataset;
use lance::index::prefilter::DatasetPreFilter;
use lance_table::format::Fragment;
use roaring::RoaringBitmap;

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
/// later table has other files.
pub fn state(dataset: &Dataset, wanted: &RoaringBitmap) -> Fragments {
    use std::fmt::Write;
    let mut state = String::new();
    for fragment in present(dataset, wanted) {
        let file = fragment.files.first().map_or("", |file| file.path.as_str());
        let _ = write!(state, "{}={file}", fragment.id);
        if let Some(deleted) = &fragment.deletion_file {
            let _ = write!(state, "-{}.{}", deleted.read_version, deleted.id);
        }
        state.push(';');
    }
    state.into()
}

/// Whether a row lives in one of the fragments; `None` means that all rows that ever did still do.
pub async fn rows(
    dataset: &Arc<Dataset>,
    fragments: RoaringBitmap,
) -> Result<Option<impl Fn(u64) -> bool + Send + Sync + use<>>> {
    let mask = DatasetPreFilter::create_restricted_deletion_mask(dataset.clone(), fragments);
    match mask {
        None => Ok(None),
        Some(mask) => {
            let mask = mask.await?;
            Ok(Some(move |row| mask.selected(row)))
        }
    }
}
