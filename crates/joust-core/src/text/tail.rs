//! Rows of fragments that are in no segment, indexed when they are searched: in memory, as long as they
//! are few.
//!
//! The tail grows by a fragment with every write. What has been indexed is kept in pieces, each for
//! some fragments, so that a write costs the indexing of its own rows only; when there are many small
//! pieces they become one.

use std::sync::Arc;

use joust_text::analysis::Analysis;
use joust_text::segment::{Builder, Built};
use joust_text::view::Part;
use lance::Dataset;
use roaring::RoaringBitmap;

use super::caches::TextCaches;
use super::column::TextColumn;
use super::files::Scratch;
use super::fill::{Making, Rows};
use super::visible::{self, Fragments, present};
use crate::error::Result;

/// Small fragments of one piece, at most: only the last piece changes when another is added.
const FRAGMENTS: usize = 16;
/// A fragment of more rows is a piece of its own.
const SMALL: usize = 4_096;

/// Memory for the terms and postings of a piece; what does not fit goes to a file that is mapped.
const MEMORY: usize = 32 << 20;

/// What an open segment in memory takes besides its files, bytes: of few rows, by far the most.
pub const OPEN: usize = 48 << 10;

/// What a piece was made of. The field's id names the column, because its name can pass to another column
/// of the same fragments.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Texts {
    field: i32,
    /// Of a JSON column: the keys that lead to the texts.
    keys: Option<Vec<String>>,
    /// As JSON.
    analysis: String,
    fragments: Fragments,
}

/// Rows of some fragments, indexed. `None`: none of them has a text.
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
