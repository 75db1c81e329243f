//! Words over several columns, scored as if the columns were one text: BM25F.
//!
//! Term frequency and length are sums over all columns, with the weight of each column. The document frequency of a
//! word is the number of rows that contain it in any column. The number of documents is that of the column with the most
//! texts, or the document frequency if that is larger: the columns may have their texts in different rows.

use std::collections::HashMap;
use std::time::Instant;

use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, TERMINATED, Term};

use super::plan::Searched;
use super::{Hit, Interrupt, Observe, Step};
use crate::error::{Error, Result};

/// The part of a query that searches several columns as one text.
#[derive(Debug, Clone, PartialEq)]
pub struct Bm25f {
    /// Column numbers with weights.
    pub columns: Vec<(usize, f32)>,
    pub terms: Vec<String>,
    /// A row must have every term.
    pub all: bool,
}

/// Documents between two looks at the interrupt.
const INTERRUPT_EVERY: u32 = 1 << 16;

/// A column with its weight.
pub type Weighted<'a> = (Searched<'a>, f32);

/// Every row, ordered by row id.
pub fn rows(
    columns: &[Weighted<'_>],
    asked: &Bm25f,
    interrupt: Interrupt<'_>,
    observe: Observe<'_>,
) -> Result<Vec<Hit>> {
    let mut times = Vec::new();
    for term in &asked.terms {
        if interrupt() {
            return Err(Error::Interrupted);
        }
        times.push(occurrences(columns, term, observe)?);
    }
    let mut lengths: HashMap<u64, f32> = HashMap::new();
    for rows in &times {
        for (row, found) in rows {
            if found.wanted {
                lengths.insert(*row, 0.0);
            }
        }
    }
    if asked.all {
        lengths.retain(|row, _| times.iter().all(|rows| rows.contains_key(row)));
    }
    if lengths.is_empty() {
        return Ok(Vec::new());
    }
    measure(columns, &mut lengths, interrupt)?;
    let total = columns.iter().map(|(own, _)| own.view.documents()).max();
    let total = total.unwrap_or(0) as f32;
    let tokens: f32 = columns
        .iter()
        .map(|(own, weight)| own.view.mean_length() * own.view.documents() as f32 * weight)
        .filter(|tokens| tokens.is_finite())
        .sum();
    let mean = tokens / total;
    let mut hits: Vec<Hit> = lengths
        .into_iter()
        .map(|(row, length)| {
            let norm = 1.2 * (0.25 + 0.75 * length / mean);
            let score = times.iter().map(|rows| match rows.get(&row) {
                Some(found) => {
                    let frequency = rows.len() as f32;
                    let idf = idf(frequency, total.max(frequency));
                    idf * 2.2 * found.times / (found.times + norm)
                }
                None => 0.0,
            });
            Hit {
                row,
                score: score.sum(),
            }
        })
        .collect();
    hits.sort_unstable_by_key(|hit| hit.row);
    Ok(hits)
}

#[derive(Default)]
struct Found {
    /// Sum of the weighted term frequencies.
    times: f32,
    /// Whether the row passes the filter.
    wanted: bool,
}

/// Term frequency of a term in each visible row.
fn occurrences(
    columns: &[Weighted<'_>],
    term: &str,
    observe: Observe<'_>,
) -> Result<HashMap<u64, Found>> {
    let mut rows: HashMap<u64, Found> = HashMap::new();
    for (own, weight) in columns {
        let Some(field) = own.view.text() else {
            continue;
        };
        let term = Term::from_field_text(field, term);
        for (number, part, documents) in own.view.searched(own.restriction) {
            let (started, mut seen) = (Instant::now(), 0);
            let segment = part.segment();
            let index = segment.reader().inverted_index(field)?;
            let Some(mut postings) = index.read_postings(&term, IndexRecordOption::WithFreqs)?
            else {
                continue;
            };
            let mut document = postings.doc();
            while document != TERMINATED {
                if part.visible().contains(document) {
                    seen += 1;
                    let found = rows.entry(segment.row(document)).or_default();
                    found.times += weight * postings.term_freq() as f32;
                    found.wanted |= documents.contains(document);
                }
                document = postings.advance();
            }
            observe(Step {
                column: own.column,
                part: number,
                rows: seen,
                time: started.elapsed(),
            });
        }
    }
    Ok(rows)
}

/// The length of each row, summed over all columns.
fn measure(
    columns: &[Weighted<'_>],
    lengths: &mut HashMap<u64, f32>,
    interrupt: Interrupt<'_>,
) -> Result<()> {
    for (own, weight) in columns {
        for part in own.view.parts() {
            let segment = part.segment();
            for document in 0..segment.documents() {
                if document.is_multiple_of(INTERRUPT_EVERY) && interrupt() {
                    return Err(Error::Interrupted);
                }
                if let Some(length) = lengths.get_mut(&segment.row(document))
                    && part.visible().contains(document)
                {
                    *length += weight * segment.length(document) as f32;
                }
            }
        }
    }
    Ok(())
}

fn idf(frequency: f32, total: f32) -> f32 {
    (1.0 + (total - frequency + 0.5) / (frequency + 0.5)).ln()
}
