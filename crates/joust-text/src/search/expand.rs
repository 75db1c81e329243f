//! Expands a fuzzy word into terms.
//!
//! tantivy's fuzzy query gives every row the same score. Here a fuzzy word is a disjunction of terms with BM25 scores.
//! All terms of one word share the idf of the most frequent term; with its own idf, a rare misspelling would outrank
//! the word itself. The weight of a term at `n` edits is `1/(n + 1)`.

use std::collections::HashMap;

use tantivy::query::FuzzyTermQuery;
use tantivy::{InvertedIndexReader, Term};
use tantivy_fst::Automaton;

use super::Interrupt;
use super::levenshtein::Levenshtein;
use crate::error::{Error, Result};
use crate::query::Match;
use crate::view::View;

/// The edit distances for which tantivy has automata. They are built once and then applied to each word.
const EDITS_OF_TANTIVY: u8 = 2;

struct Candidate {
    word: usize,
    edits: usize,
    /// Documents of all segments that contain it, including deleted ones: it only affects the order.
    documents: u64,
    text: String,
}

/// Expands each word, given with its frequency in the query, into terms with weights. Takes the nearest and most
/// frequent terms of all segments, up to `max_expansions` over all words.
pub fn expand(
    view: &View,
    words: &[(String, usize)],
    query: &Match,
    most: usize,
    interrupt: Interrupt<'_>,
) -> Result<Vec<Vec<(String, f32)>>> {
    let mut candidates = Vec::new();
    for (index, (word, _)) in words.iter().enumerate() {
        if interrupt() {
            return Err(Error::Interrupted);
        }
        let edits = query.fuzziness.edits(word);
        candidates.extend(similar(view, index, word, edits, query.prefix_length)?);
    }
    candidates.sort_unstable_by(|a, b| {
        (a.edits, b.documents, &a.text, a.word).cmp(&(b.edits, a.documents, &b.text, b.word))
    });
    // The exact term of a word is not an expansion, so the limit does not apply to it.
    let own = candidates.iter().take_while(|one| one.edits == 0).count();
    candidates.truncate(query.max_expansions.min(most).max(own));
    weigh(view, words, candidates)
}

fn similar(
    view: &View,
    index: usize,
    word: &str,
    edits: u8,
    prefix_length: usize,
) -> Result<Vec<Candidate>> {
    let Some(field) = view.text() else {
        return Ok(Vec::new());
    };
    let term = Term::from_field_text(field, word);
    let prefix: String = word.chars().take(prefix_length).collect();
    let mut found: HashMap<String, u64> = HashMap::new();
    for part in view.parts() {
        let inverted = part.segment().reader().inverted_index(field)?;
        if edits == 0 {
            if let Some(info) = inverted.get_term_info(&term)? {
                *found.entry(word.to_string()).or_default() += u64::from(info.doc_freq);
            }
            continue;
        }
        if edits <= EDITS_OF_TANTIVY {
            let automaton = FuzzyTermQuery::new(term.clone(), edits, false).automaton()?;
            collect(&inverted, automaton, &prefix, &mut found)?;
        } else {
            let automaton = Levenshtein::new(word, &prefix, edits);
            collect(&inverted, automaton, &prefix, &mut found)?;
        }
    }
    let candidates = found.into_iter().map(|(text, documents)| Candidate {
        word: index,
        edits: distance(word, &text),
        documents,
        text,
    });
    Ok(candidates.collect())
}

/// Adds the terms that an automaton accepts and that begin with `prefix`, with their document counts.
fn collect<A: Automaton>(
    inverted: &InvertedIndexReader,
    automaton: A,
    prefix: &str,
    found: &mut HashMap<String, u64>,
) -> Result<()>
where
    A::State: Clone,
{
    let terms = inverted.terms().search(automaton);
    let mut terms = terms.ge(prefix.as_bytes()).into_stream()?;
    while terms.advance() {
        let Ok(text) = std::str::from_utf8(terms.key()) else {
            continue;
        };
        if text.starts_with(prefix) {
            *found.entry(text.to_string()).or_default() += u64::from(terms.value().doc_freq);
        }
    }
    Ok(())
}

fn weigh(
    view: &View,
    words: &[(String, usize)],
    candidates: Vec<Candidate>,
) -> Result<Vec<Vec<(String, f32)>>> {
    let mut groups: Vec<Vec<(String, usize, u64)>> = vec![Vec::new(); words.len()];
    let Some(field) = view.text() else {
        return Ok(vec![Vec::new(); words.len()]);
    };
    for one in candidates {
        let visible = view.frequency(&Term::from_field_text(field, &one.text))?;
        if visible > 0 {
            groups[one.word].push((one.text, one.edits, visible));
        }
    }
    let total = view.documents();
    let weighed = groups.into_iter().zip(words).map(|(group, (_, times))| {
        let most = group.iter().map(|(.., frequency)| *frequency).max();
        let idf = most.map_or(0.0, |most| idf(most, total));
        group
            .into_iter()
            .map(|(text, edits, frequency)| {
                // The index multiplies by the idf of the term.
                let weight = idf / self::idf(frequency, total);
                (text, *times as f32 * weight / (edits as f32 + 1.0))
            })
            .collect()
    });
    Ok(weighed.collect())
}

/// The idf of BM25 for a term that `frequency` of `total` rows contain.
fn idf(frequency: u64, total: u64) -> f32 {
    let x = (total.saturating_sub(frequency) as f32 + 0.5) / (frequency as f32 + 0.5);
    (1.0 + x).ln()
}

/// Levenshtein distance in letters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        for (a, b, edits) in [
            ("", "", 0),
            ("abc", "abc", 0),
            ("abc", "abd", 1),
            ("abc", "acb", 2),
            ("abc", "ab", 1),
            ("", "ab", 2),
            ("naïve", "naive", 1),
        ] {
            assert_eq!(distance(a, b), edits, "{a} {b}");
            assert_eq!(distance(b, a), edits, "{b} {a}");
        }
    }
}
