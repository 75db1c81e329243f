//! One column at one version: its segments and their visible rows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{COLLECT_BLOCK_BUFFER_LEN, DocSet, Term};

use crate::analysis::{Analysis, Analyzer};
use crate::error::Result;
use crate::segment::Segment;

/// Term frequencies that a part caches.
const REMEMBERED: usize = 16_384;

/// Some documents of a segment.
#[derive(Debug, Clone)]
pub enum Documents {
    All(u32),
    /// A bit for each document, and the number of set bits.
    Some(Arc<[u64]>, u32),
}

impl Documents {
    fn select(segment: &Segment, mut wanted: impl FnMut(u32) -> bool) -> Self {
        let total = segment.documents();
        let mut bits = vec![0_u64; (total as usize).div_ceil(64)];
        let mut count = 0;
        for document in 0..total {
            if wanted(document) {
                bits[document as usize / 64] |= 1 << (document % 64);
                count += 1;
            }
        }
        if count == total {
            Self::All(total)
        } else {
            Self::Some(bits.into(), count)
        }
    }

    pub fn contains(&self, document: u32) -> bool {
        match self {
            Self::All(total) => document < *total,
            Self::Some(bits, _) => bits
                .get(document as usize / 64)
                .is_some_and(|word| word >> (document % 64) & 1 == 1),
        }
    }

    pub fn count(&self) -> u32 {
        match self {
            Self::All(count) | Self::Some(_, count) => *count,
        }
    }
}

/// A segment and its visible documents. Built once for a version of the table and then shared.
pub struct Part {
    segment: Arc<Segment>,
    visible: Documents,
    tokens: u64,
    /// How much a score may exceed the bound of the segment; depends on the view.
    mean_length_of_bounds: f32,
    frequencies: Mutex<HashMap<Vec<u8>, u32>>,
}

impl Part {
    /// `visible` returns whether a row id is visible.
    pub fn new(segment: Arc<Segment>, visible: impl Fn(u64) -> bool) -> Result<Self> {
        let visible = Documents::select(&segment, |document| visible(segment.row(document)));
        Self::with(segment, visible)
    }

    /// All rows of the segment are visible.
    pub fn whole(segment: Arc<Segment>) -> Result<Self> {
        let all = Documents::All(segment.documents());
        Self::with(segment, all)
    }

    fn with(segment: Arc<Segment>, visible: Documents) -> Result<Self> {
        let tokens = (0..segment.documents())
            .filter(|document| visible.contains(*document))
            .map(|document| u64::from(segment.length(document)))
            .sum();
        Ok(Self {
            tokens,
            mean_length_of_bounds: segment.mean_length_of_bounds()?,
            visible,
            segment,
            frequencies: Mutex::default(),
        })
    }

    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    pub fn visible(&self) -> &Documents {
        &self.visible
    }

    /// Visible documents that contain the term.
    pub(crate) fn frequency(&self, term: &Term) -> Result<u32> {
        let index = self.segment.reader().inverted_index(term.field())?;
        let Some(info) = index.get_term_info(term)? else {
            return Ok(0);
        };
        if matches!(self.visible, Documents::All(_)) {
            return Ok(info.doc_freq);
        }
        let key = term.serialized_value_bytes();
        if let Some(count) = self.remembered().get(key) {
            return Ok(*count);
        }
        let mut postings = index.read_postings_from_terminfo(&info, IndexRecordOption::Basic)?;
        let mut buffer = [0; COLLECT_BLOCK_BUFFER_LEN];
        let mut count = 0;
        loop {
            let filled = postings.fill_buffer(&mut buffer);
            count += buffer[..filled]
                .iter()
                .filter(|document| self.visible.contains(**document))
                .count() as u32;
            if filled < buffer.len() {
                break;
            }
        }
        let mut remembered = self.remembered();
        if remembered.len() >= REMEMBERED {
            remembered.clear();
        }
        remembered.insert(key.to_vec(), count);
        Ok(count)
    }

    fn remembered(&self) -> std::sync::MutexGuard<'_, HashMap<Vec<u8>, u32>> {
        self.frequencies
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// All parts of a column.
pub struct View {
    analysis: Arc<Analysis>,
    analyzer: Analyzer,
    parts: Vec<Arc<Part>>,
    documents: u64,
    tokens: u64,
}

/// The rows of a view that pass a filter.
#[derive(Debug, Clone)]
pub struct Restriction(Vec<Documents>);

impl View {
    /// Every segment must have been made with this analysis.
    pub fn new(analysis: Arc<Analysis>, parts: Vec<Arc<Part>>) -> Result<Self> {
        Ok(Self {
            analyzer: Analyzer::new(&analysis)?,
            documents: parts
                .iter()
                .map(|part| u64::from(part.visible.count()))
                .sum(),
            tokens: parts.iter().map(|part| part.tokens).sum(),
            analysis,
            parts,
        })
    }

    pub fn analysis(&self) -> &Analysis {
        &self.analysis
    }

    pub fn analyzer(&self) -> &Analyzer {
        &self.analyzer
    }

    pub fn parts(&self) -> &[Arc<Part>] {
        &self.parts
    }

    /// Visible rows with a text.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// The rows for which `wanted` is true.
    pub fn restrict(&self, wanted: impl Fn(u64) -> bool) -> Restriction {
        let restricted = self.parts.iter().map(|part| {
            Documents::select(&part.segment, |document| {
                part.visible.contains(document) && wanted(part.segment.row(document))
            })
        });
        Restriction(restricted.collect())
    }

    /// The documents of each part that may match, with the number of the part.
    pub(crate) fn searched<'a>(
        &'a self,
        restriction: Option<&'a Restriction>,
    ) -> impl Iterator<Item = (usize, &'a Part, &'a Documents)> {
        self.parts.iter().enumerate().map(move |(index, part)| {
            let documents = restriction.and_then(|restriction| restriction.0.get(index));
            (index, part.as_ref(), documents.unwrap_or(&part.visible))
        })
    }

    /// The text field, the same in all parts. `None` if there are no parts.
    pub(crate) fn text(&self) -> Option<Field> {
        self.parts.first().map(|part| part.segment.text())
    }

    /// The factor by which a score may exceed the bound of a part. For each block of a posting list, a part stores the
    /// document with the best score under the part's mean length. Under the mean length of the view, another document
    /// may score better.
    pub(crate) fn slack(&self, part: &Part) -> f32 {
        let (own, whole) = (part.mean_length_of_bounds, self.mean_length());
        match own > 0.0 && whole > 0.0 {
            true => (own / whole).max(whole / own),
            false => f32::INFINITY,
        }
    }

    pub(crate) fn mean_length(&self) -> f32 {
        self.tokens as f32 / self.documents as f32
    }

    /// Documents that contain the term, visible or not.
    pub(crate) fn entries(&self, term: &Term) -> Result<u64> {
        let mut sum = 0;
        for part in &self.parts {
            let index = part.segment.reader().inverted_index(term.field())?;
            sum += u64::from(index.doc_freq(term)?);
        }
        Ok(sum)
    }

    /// Visible rows that contain the term.
    pub(crate) fn frequency(&self, term: &Term) -> Result<u64> {
        let mut sum = 0;
        for part in &self.parts {
            sum += u64::from(part.frequency(term)?);
        }
        Ok(sum)
    }
}

impl Bm25StatisticsProvider for View {
    fn total_num_tokens(&self, _field: Field) -> tantivy::Result<u64> {
        Ok(self.tokens)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.documents)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        self.frequency(term).map_err(|error| match error {
            crate::Error::Index(error) => error,
            error => tantivy::TantivyError::InternalError(error.to_string()),
        })
    }
}
