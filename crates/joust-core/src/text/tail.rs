//! Rows of fragments that are in no segment, indexed in memory.
//!
//! The tail grows by a fragment with every write. What has been indexed is kept in pieces, each for
//! some fragments, so that a write costs the indexing of its own rows only; when there are many small
//! pieces they become one.

use std::sync::Arc;

use futures::TryStreamExt;
use joust_text::analysis::Analysis;
use joust_text::segment::{Builder, Segment};
use joust_text::view::Part;
use lance::Dataset;
use roaring::RoaringBitmap;

use super::caches::TextCaches;
use super::column::TextColumn;
use super::files::blocking;
use super::source;
use super::visible::{self, present};
use crate::error::Result;

/// Small fragments of one piece, at most: only the last piece changes when another is added.
const FRAGMENTS: usize = 16;
/// A fragment of more rows is a piece of its own.
const SMALL: usize = 4_096;

/// What an open segment in memory takes besides its files, bytes: of few rows, by far the most.
pub const OPEN: usize = 48 << 10;

/// Rows of some fragments, in memory. `None`: none of them has a text.
pub struct Piece(Option<Arc<Part>>);

/// The parts of the tail of a version: all rows that no entry covers.
pub async fn parts(
    dataset: &Arc<Dataset>,
    column: &TextColumn,
    analysis: &Arc<Analysis>,
    covered: &RoaringBitmap,
    caches: &TextCaches,
) -> Result<Vec<Arc<Part>>> {
    let mut parts = Vec::new();
    for fragments in pieces(dataset, covered) {
        let key = (key(column, analysis)?, visible::state(dataset, &fragments));
        let piece = caches
            .tails
            .get(&key, async || {
                index(dataset, column, analysis, &fragments).await
            })
            .await?;
        parts.extend(piece.0.clone());
    }
    Ok(parts)
}

/// The fragments of each piece.
fn pieces(dataset: &Dataset, covered: &RoaringBitmap) -> Vec<RoaringBitmap> {
    let mut pieces = Vec::new();
    let mut small = RoaringBitmap::new();
    for fragment in dataset.manifest().fragments.iter() {
        let id = fragment.id as u32;
        if covered.contains(id) {
            continue;
        }
        if fragment.physical_rows.is_none_or(|rows| rows > SMALL) {
            pieces.push(RoaringBitmap::from([id]));
            continue;
        }
        small.insert(id);
        if small.len() as usize == FRAGMENTS {
            pieces.push(std::mem::take(&mut small));
        }
    }
    if !small.is_empty() {
        pieces.push(small);
    }
    pieces
}

/// Two columns of one fragment have different pieces, and so has a column under two analyses.
fn key(column: &TextColumn, analysis: &Analysis) -> Result<String> {
    let analysis = serde_json::to_string(analysis)
        .map_err(|error| crate::Error::internal("a text index could not be described", error))?;
    Ok(format!("{} {analysis}", column.name()))
}

async fn index(
    dataset: &Arc<Dataset>,
    column: &TextColumn,
    analysis: &Arc<Analysis>,
    fragments: &RoaringBitmap,
) -> Result<(Arc<Piece>, usize)> {
    let fragments = present(dataset, fragments).cloned().collect();
    let batches: Vec<_> = source::batches(dataset, column, fragments)
        .await?
        .try_collect()
        .await?;
    let (analysis, column) = (analysis.clone(), column.clone());
    blocking(move || {
        let mut builder = Builder::in_memory(&analysis)?;
        for batch in &batches {
            source::add(&mut builder, batch, &column)?;
        }
        let segment: Option<Arc<Segment>> = match builder.finish()? {
            Some(built) => Some(built.open()?),
            None => None,
        };
        let bytes = segment
            .as_ref()
            .map_or(0, |own| own.bytes() as usize + OPEN);
        let part = segment.map(Part::whole).transpose()?.map(Arc::new);
        Ok((Arc::new(Piece(part)), bytes))
    })
    .await
}
