//! Merges segments into one, without the rows that are no longer visible.

use std::path::Path;

use tantivy::BitSet;
use tantivy::directory::OwnedBytes;
use tantivy::fastfield::{AliveBitSet, write_alive_bitset};
use tantivy::indexer::merge_filtered_segments;

use super::build::{Built, mapped};
use super::{Segment, schema};
use crate::error::Result;

/// Merges segments of one column into a local directory, which this creates. Drops documents for whose row `keep` is
/// false. Segments in the order of row ids produce a segment in that order. `None` if no document is left. All segments
/// must have the same analysis.
pub fn merge(
    segments: &[(&Segment, &dyn Fn(u64) -> bool)],
    directory: &Path,
) -> Result<Option<Built>> {
    let mut segments = segments.to_vec();
    segments.sort_by_key(|(segment, _)| segment.ascending());
    let mut sources = Vec::new();
    let mut filters = Vec::new();
    let mut documents = 0;
    for (segment, keep) in segments {
        let alive = alive(segment, keep)?;
        let kept = alive.num_alive_docs() as u64;
        if kept == 0 {
            continue;
        }
        documents += kept;
        sources.extend(segment.searcher().index().searchable_segments()?);
        filters.push((kept < u64::from(segment.documents())).then_some(alive));
    }
    if documents == 0 {
        return Ok(None);
    }
    merge_filtered_segments(&sources, schema::settings(), filters, mapped(directory)?)?;
    Ok(Some(Built::in_directory(
        documents,
        directory.to_path_buf(),
    )))
}

fn alive(segment: &Segment, keep: &dyn Fn(u64) -> bool) -> Result<AliveBitSet> {
    let mut bits = BitSet::with_max_value_and_full(segment.documents());
    for document in 0..segment.documents() {
        if !keep(segment.row(document)) {
            bits.remove(document);
        }
    }
    let mut bytes = Vec::new();
    write_alive_bitset(&bits, &mut bytes)?;
    Ok(AliveBitSet::open(OwnedBytes::new(bytes)))
}
