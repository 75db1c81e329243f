//! The tail: rows of fragments that are in no segment. They are indexed at search time, in memory if they are few.
//!
//! The tail grows by a fragment with every write. Its index is cached in pieces, each for some fragments, so that a
//! write only costs the indexing of its own rows. Many small pieces are merged into one.

use std::sync::Arc;

use joust_text::analysis::Analysis;
use joust_text::segment::{Builder, Built};
use joust_text::view::Part;
use lance::Dataset;
use roaring::RoaringBitmap;

use super::column::TextColumn;
use super::files::Scratch;
use super::fill::{Making, Rows};
use super::text_caches::TextCaches;
use super::visible::{self, Fragments, present};
use crate::error::Result;

/// The most small fragments in one piece: only the last piece changes when another is added.
const FRAGMENTS: usize = 16;
/// A fragment with more rows has its own piece.
const SMALL: usize = 4_096;

/// Memory for the terms and postings of a piece; beyond it they are in a mapped file.
const MEMORY: usize = 32 << 20;

/// Memory of an open segment besides its files, bytes: the larger part for few rows.
pub const OPEN: usize = 48 << 10;

/// The source of a piece. The field id identifies the column, because another column of the same fragments can take its
/// name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Texts {
    field: i32,
    /// Of a JSON column: the keys of the path.
    keys: Option<Vec<String>>,
    /// As JSON.
    analysis: String,
    fragments: Fragments,
}

/// The index of some fragments' rows. `None` if none of them has a text.
pub struct Piece(Option<Arc<Part>>);

/// The parts of the tail of a version: all rows that no entry covers.
pub async fn parts(
    dataset: &Arc<Dataset>,
    field: i32,
    column: &TextColumn,
    analysis: &Arc<Analysis>,
    covered: &RoaringBitmap,
    caches: &TextCaches,
) -> Result<Vec<Arc<Part>>> {
    let mut parts = Vec::new();
    for fragments in pieces(dataset, covered) {
        let key = Texts {
            field,
            keys: column.keys.clone(),
            analysis: describe(analysis)?,
            fragments: visible::state(dataset, &fragments),
        };
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

fn describe(analysis: &Analysis) -> Result<String> {
    serde_json::to_string(analysis)
        .map_err(|error| crate::Error::internal("a text index could not be described", error))
}

async fn index(
    dataset: &Arc<Dataset>,
    column: &TextColumn,
    analysis: &Arc<Analysis>,
    fragments: &RoaringBitmap,
) -> Result<(Arc<Piece>, usize)> {
    let rows = Rows {
        dataset,
        column,
        fragments: present(dataset, fragments).cloned().collect(),
    };
    let scratch = Scratch::default();
    let making = Making {
        builder: Builder::in_memory(analysis, scratch.path(), MEMORY)?,
        scratch,
    };
    let piece = |built: Option<Built>| {
        let segment = built.map(Built::open).transpose()?;
        let bytes = segment
            .as_ref()
            .map_or(0, |own| own.bytes() as usize + OPEN);
        let part = segment.map(Part::whole).transpose()?.map(Arc::new);
        Ok((Arc::new(Piece(part)), bytes))
    };
    rows.fill(making, piece, &mut |_| {}).await
}
