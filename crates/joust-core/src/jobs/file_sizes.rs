//! The sizes of data files.

use std::num::NonZero;

use lance_table::format::Fragment;

/// Bytes of the data files of fragments, if they are known.
pub fn bytes_of<'a>(fragments: impl IntoIterator<Item = &'a Fragment>) -> Option<u64> {
    fragments
        .into_iter()
        .flat_map(|fragment| &fragment.files)
        .map(|file| file.file_size_bytes.get().map(NonZero::get))
        .sum()
}
