//! Builds a segment.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::{Directory, MmapDirectory, RamDirectory};
use tantivy::indexer::{SingleSegmentIndexWriter, merge_filtered_segments};
use tantivy::schema::{Field, Schema};
use tantivy::tokenizer::TokenizerManager;
use tantivy::{Index, IndexBuilder, TantivyDocument};

use super::directory::{Files, is_hidden};
use super::{Segment, schema};
use crate::analysis::{Analysis, Analyzer};
use crate::error::{Error, Result};

/// Builds one segment from rows with bounded memory: a part is written whenever it reaches `memory` bytes, and the
/// parts are merged at the end.
pub struct Builder {
    schema: Schema,
    tokenizers: TokenizerManager,
    text: Field,
    row: Field,
    place: Place,
    memory: usize,
    parts: Vec<Index>,
    current: Option<Part>,
    documents: u64,
}

/// The part that takes new rows.
struct Part {
    writer: SingleSegmentIndexWriter,
    /// Its memory use before the first row.
    empty: usize,
}

/// Where the files are written.
enum Place {
    /// The first part in memory, all others in the directory.
    Memory(RamDirectory, PathBuf),
    Disk(PathBuf),
}

/// A finished segment.
pub struct Built {
    /// Rows with a text.
    pub documents: u64,
    files: Where,
}

enum Where {
    Memory(Files),
    Disk(PathBuf),
}

impl Builder {
    /// Builds a segment in memory if `memory` bytes are enough, else in a local directory, which it creates.
    pub fn in_memory(analysis: &Analysis, directory: &Path, memory: usize) -> Result<Self> {
        let place = Place::Memory(RamDirectory::create(), directory.to_path_buf());
        Self::new(analysis, place, memory)
    }

    /// Builds a segment with about `memory` bytes in a local directory, which it creates.
    pub fn on_disk(analysis: &Analysis, directory: &Path, memory: usize) -> Result<Self> {
        Self::new(analysis, Place::Disk(directory.to_path_buf()), memory)
    }

    fn new(analysis: &Analysis, place: Place, memory: usize) -> Result<Self> {
        let schema = schema::schema(analysis.with_position);
        let tokenizers = TokenizerManager::default();
        tokenizers.register(schema::ANALYZER, Analyzer::new(analysis)?.inner());
        Ok(Self {
            text: schema.get_field(schema::TEXT)?,
            row: schema.get_field(schema::ROW)?,
            schema,
            tokenizers,
            place,
            memory,
            parts: Vec::new(),
            current: None,
            documents: 0,
        })
    }

    /// Adds a row. Its texts form one text; no phrase spans two of them. A row without texts is not a document; pass
    /// empty `texts` for it.
    pub fn add<'a>(&mut self, row: u64, texts: impl IntoIterator<Item = &'a str>) -> Result<()> {
        let mut document = TantivyDocument::default();
        let mut empty = true;
        for text in texts {
            document.add_text(self.text, text);
            empty = false;
        }
        if empty {
            return Ok(());
        }
        document.add_u64(self.row, row);
        let mut part = match self.current.take() {
            Some(part) => part,
            None => self.part()?,
        };
        part.writer.add_document(document)?;
        self.documents += 1;
        if part.writer.mem_usage().saturating_sub(part.empty) >= self.memory {
            self.parts.push(part.writer.finalize()?);
        } else {
            self.current = Some(part);
        }
        Ok(())
    }

    fn part(&self) -> Result<Part> {
        /// tantivy sizes its tables by this budget.
        const TABLES: usize = 15 << 20;
        let builder = IndexBuilder::new()
            .schema(self.schema.clone())
            .settings(schema::settings())
            .tokenizers(self.tokenizers.clone());
        let number = self.parts.len();
        let writer = match &self.place {
            Place::Memory(directory, _) if number == 0 => {
                builder.single_segment_index_writer(directory.clone(), TABLES / 16)?
            }
            Place::Disk(directory) | Place::Memory(_, directory) => {
                let directory = directory.join(format!("part-{number}"));
                builder.single_segment_index_writer(mapped(&directory)?, TABLES)?
            }
        };
        Ok(Part {
            empty: writer.mem_usage(),
            writer,
        })
    }

    /// Writes the last part and merges the parts. `None` without any document.
    pub fn finish(mut self) -> Result<Option<Built>> {
        if let Some(part) = self.current.take() {
            self.parts.push(part.writer.finalize()?);
        }
        let parts = std::mem::take(&mut self.parts);
        let documents = self.documents;
        match (&self.place, parts.len()) {
            (_, 0) => Ok(None),
            (Place::Memory(directory, _), 1) => Ok(Some(Built {
                documents,
                files: Where::Memory(in_memory(directory, &parts[0])?),
            })),
            (Place::Disk(directory), 1) => Ok(Some(Built::in_directory(
                documents,
                directory.join("part-0"),
            ))),
            (Place::Disk(directory) | Place::Memory(_, directory), _) => {
                let merged = directory.join("merged");
                let mut segments = Vec::new();
                for part in &parts {
                    segments.extend(part.searchable_segments()?);
                }
                let filters = vec![None; segments.len()];
                merge_filtered_segments(&segments, schema::settings(), filters, mapped(&merged)?)?;
                Ok(Some(Built::in_directory(documents, merged)))
            }
        }
    }
}

/// A memory-mapped directory, which this creates.
pub(super) fn mapped(directory: &Path) -> Result<MmapDirectory> {
    std::fs::create_dir_all(directory)?;
    MmapDirectory::open(directory).map_err(|error| Error::Index(error.into()))
}

impl Built {
    pub(super) fn in_directory(documents: u64, directory: PathBuf) -> Self {
        Self {
            documents,
            files: Where::Disk(directory),
        }
    }

    /// The files to store.
    pub fn files(self) -> Result<Files> {
        match self.files {
            Where::Memory(files) => Ok(files),
            Where::Disk(directory) => Files::map(&directory),
        }
    }

    pub fn open(self) -> Result<Arc<Segment>> {
        Segment::from_files(self.files()?)
    }
}

/// The files of an index, without those that only a writer needs. tantivy's list of them lacks their footers.
fn in_memory(directory: &RamDirectory, index: &Index) -> Result<Files> {
    let mut files = HashMap::new();
    let mut names = index.directory().list_managed_files();
    names.insert(PathBuf::from("meta.json"));
    for name in names {
        if is_hidden(&name) {
            continue;
        }
        // tantivy does not write empty parts of a segment.
        if let Ok(slice) = directory.open_read(&name) {
            files.insert(name, slice.read_bytes()?);
        }
    }
    Ok(Files::from_owned(files))
}
