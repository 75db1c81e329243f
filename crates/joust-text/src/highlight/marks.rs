//! Finds the matches of a query in a text.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::analysis::Analyzer;

/// The most steps of the search for one phrase in one text.
const MOST_STEPS: usize = 100_000;

/// A matched word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Byte range in the text.
    pub place: Range<usize>,
    pub term: String,
}

/// Terms with their positions in a phrase.
pub struct Phrase {
    terms: Vec<(usize, String)>,
    slop: usize,
}

impl Phrase {
    pub fn new(terms: &[(usize, String)], slop: u32) -> Self {
        Self {
            terms: terms.to_vec(),
            slop: slop as usize,
        }
    }
}

struct Word {
    position: usize,
    mark: Mark,
}

/// All marks, in the order of the text; they may overlap.
pub fn find(
    analyzer: &Analyzer,
    text: &str,
    terms: &HashSet<String>,
    phrases: &[Phrase],
) -> Vec<Mark> {
    let wanted = |term: &str| {
        let in_phrase = |phrase: &Phrase| phrase.terms.iter().any(|(_, other)| other == term);
        terms.contains(term) || phrases.iter().any(in_phrase)
    };
    let mut words = Vec::new();
    analyzer.each(text, &mut |token| {
        if wanted(&token.text) {
            words.push(Word {
                position: token.position,
                mark: Mark {
                    place: token.offset_from..token.offset_to,
                    term: token.text.clone(),
                },
            });
        }
    });
    let mut chosen: Vec<bool> = words
        .iter()
        .map(|word| terms.contains(&word.mark.term))
        .collect();
    for phrase in phrases {
        mark_phrase(phrase, &words, &mut chosen);
    }
    let mut marks: Vec<Mark> = words
        .into_iter()
        .zip(chosen)
        .filter_map(|(word, chosen)| chosen.then_some(word.mark))
        .collect();
    marks.sort_by_key(|mark| (mark.place.start, mark.place.end));
    marks
}

/// Marks the words of every occurrence of the phrase.
fn mark_phrase(phrase: &Phrase, words: &[Word], chosen: &mut [bool]) {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, word) in words.iter().enumerate() {
        places.entry(&word.mark.term).or_default().push(index);
    }
    let Some(lists) = phrase
        .terms
        .iter()
        .map(|(_, term)| places.get(term.as_str()))
        .collect::<Option<Vec<_>>>()
    else {
        return;
    };
    let mut steps = 0;
    let mut trail = Vec::with_capacity(lists.len());
    for &first in lists[0] {
        trail.clear();
        trail.push(first);
        if follow(phrase, words, &lists, &mut trail, phrase.slop, &mut steps) {
            for &index in &trail {
                chosen[index] = true;
            }
        }
    }
}

/// Matches the rest of the phrase. The words may be off their positions by at most `slop` in total.
fn follow(
    phrase: &Phrase,
    words: &[Word],
    lists: &[&Vec<usize>],
    trail: &mut Vec<usize>,
    slop: usize,
    steps: &mut usize,
) -> bool {
    let next = trail.len();
    let (Some(list), Some(&last)) = (lists.get(next), trail.last()) else {
        return true;
    };
    // Where the phrase would begin, according to the last word and to the candidate.
    let start =
        |index: usize, term: usize| words[index].position as i64 - phrase.terms[term].0 as i64;
    let expected = start(last, next - 1);
    for &candidate in list.iter() {
        *steps += 1;
        if *steps > MOST_STEPS {
            return false;
        }
        let away = start(candidate, next).abs_diff(expected) as usize;
        if away > slop || trail.contains(&candidate) {
            continue;
        }
        trail.push(candidate);
        if follow(phrase, words, lists, trail, slop - away, steps) {
            return true;
        }
        trail.pop();
    }
    false
}
