//! An immutable index of some rows of one column.
//!
//! A segment is one tantivy segment with two fields: the text, of which only the terms are stored, and the row id as a
//! fast field. Its files are in one flat directory, so that they can be copied by name.

mod build;
mod directory;
mod merge;
mod schema;

use std::path::Path;
use std::sync::Arc;

use tantivy::columnar::ColumnValues;
use tantivy::fieldnorm::FieldNormReader;
use tantivy::index::SegmentReader;
use tantivy::schema::Field;
use tantivy::{Index, ReloadPolicy, Searcher, TantivyError};

pub use build::{Builder, Built};
pub use directory::Files;
pub use merge::merge;

use crate::error::Result;

/// An open segment. Reads take no lock and write nothing.
pub struct Segment {
    searcher: Searcher,
    reader: SegmentReader,
    text: Field,
    rows: Arc<dyn ColumnValues<u64>>,
    /// Whether row ids are strictly ascending.
    ascending: bool,
    lengths: FieldNormReader,
    with_position: bool,
    bytes: u64,
}

impl Segment {
    /// Opens the segment of a local directory; its files are mapped into memory.
    pub fn open(directory: &Path) -> Result<Arc<Self>> {
        Self::from_files(Files::map(directory)?)
    }

    /// Opens a segment whose files are in memory.
    pub fn from_files(files: Files) -> Result<Arc<Self>> {
        let bytes = files.bytes();
        Self::from_index(&Index::open(files)?, bytes)
    }

    fn from_index(index: &Index, bytes: u64) -> Result<Arc<Self>> {
        let searcher = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .doc_store_cache_num_blocks(0)
            .try_into()?
            .searcher();
        let [reader] = searcher.segment_readers() else {
            return Err(TantivyError::InternalError(format!(
                "{} segments where there must be one",
                searcher.segment_readers().len()
            ))
            .into());
        };
        let reader = reader.clone();
        let text = index.schema().get_field(schema::TEXT)?;
        let rows = reader
            .fast_fields()
            .u64(schema::ROW)?
            .first_or_default_col(u64::MAX);
        Ok(Arc::new(Self {
            ascending: rows.iter().is_sorted_by(|a, b| a < b),
            rows,
            lengths: reader.get_fieldnorms_reader(text)?,
            with_position: schema::has_positions(&index.schema(), text),
            searcher,
            reader,
            text,
            bytes,
        }))
    }

    /// Documents in the segment: rows with a text when it was built.
    pub fn documents(&self) -> u32 {
        self.reader.max_doc()
    }

    /// Total size of its files in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn with_position(&self) -> bool {
        self.with_position
    }

    /// The row id of a document.
    pub fn row(&self, document: u32) -> u64 {
        self.rows.get_val(document)
    }

    /// The first and last row id of a segment with ascending row ids.
    pub(crate) fn ascending(&self) -> Option<(u64, u64)> {
        let last = self.documents().checked_sub(1)?;
        self.ascending.then(|| (self.row(0), self.row(last)))
    }

    pub(crate) fn reader(&self) -> &SegmentReader {
        &self.reader
    }

    pub(crate) fn searcher(&self) -> &Searcher {
        &self.searcher
    }

    pub(crate) fn text(&self) -> Field {
        self.text
    }

    /// The length of a text, with the precision of one byte.
    pub(crate) fn length(&self, document: u32) -> u32 {
        self.lengths.fieldnorm(document)
    }

    /// The mean length from which the score bounds of the segment were computed.
    pub(crate) fn mean_length_of_bounds(&self) -> Result<f32> {
        let tokens = self.reader.inverted_index(self.text)?.total_num_tokens();
        Ok(tokens as f32 / self.documents() as f32)
    }
}
