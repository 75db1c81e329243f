//! Cuts passages around marks.

use std::collections::HashSet;
use std::ops::Range;

use super::Style;
use super::marks::Mark;
use crate::analysis::is_unspaced;

/// The best passages, in the order of the text.
pub fn cut(text: &str, marks: &[Mark], style: &Style) -> Vec<String> {
    let mut windows = windows(text, marks, style.max_chars);
    windows.sort_by(|a, b| {
        b.worth
            .cmp(&a.worth)
            .then(a.place.start.cmp(&b.place.start))
    });
    let mut taken: Vec<Range<usize>> = Vec::new();
    for window in windows {
        if taken.len() == style.fragments {
            break;
        }
        let place = widen(text, &window.place, style.max_chars);
        let overlaps = |other: &Range<usize>| place.start < other.end && other.start < place.end;
        if !taken.iter().any(overlaps) {
            taken.push(place);
        }
    }
    taken.sort_by_key(|place| place.start);
    taken
        .into_iter()
        .map(|place| render(text, place, marks, style))
        .collect()
}

struct Window {
    place: Range<usize>,
    /// The number of distinct words, then the number of words.
    worth: (usize, usize),
}

/// For each mark, the range from it to the last mark that fits.
fn windows(text: &str, marks: &[Mark], max_chars: usize) -> Vec<Window> {
    let mut found = Vec::with_capacity(marks.len());
    for (index, first) in marks.iter().enumerate() {
        let start = first.place.start;
        let limit = after(text, start, max_chars);
        let inside = marks[index..]
            .iter()
            .take_while(|mark| mark.place.start < limit)
            .filter(|mark| mark.place.end <= limit);
        let (mut terms, mut count, mut end) = (HashSet::new(), 0, first.place.end.min(limit));
        for mark in inside {
            terms.insert(mark.term.as_str());
            count += 1;
            end = end.max(mark.place.end);
        }
        found.push(Window {
            place: start..end,
            worth: (terms.len(), count),
        });
    }
    found
}

/// The byte offset `chars` characters after `start`.
fn after(text: &str, start: usize, chars: usize) -> usize {
    text[start..]
        .char_indices()
        .nth(chars)
        .map_or(text.len(), |(offset, _)| start + offset)
}

/// The byte offset `chars` characters before `end`.
fn before(text: &str, end: usize, chars: usize) -> usize {
    match chars {
        0 => end,
        chars => text[..end]
            .char_indices()
            .rev()
            .nth(chars - 1)
            .map_or(0, |(offset, _)| offset),
    }
}

/// Offsets within a range, and at its ends, where a passage may begin or end: beside white space, and beside a letter
/// of a language that is written without spaces.
fn boundaries(text: &str, place: Range<usize>) -> impl DoubleEndedIterator<Item = usize> + '_ {
    let splits = |letter: char| letter.is_whitespace() || is_unspaced(letter);
    let places = text[place.clone()].char_indices();
    let places = places.map(move |(offset, _)| place.start + offset);
    places.chain([place.end]).filter(move |at| {
        let before = text[..*at].chars().next_back();
        let after = text[*at..].chars().next();
        before.is_none_or(splits) || after.is_none_or(splits)
    })
}

/// Widens a range by whole words: half of the spare length before it, the rest after it.
fn widen(text: &str, place: &Range<usize>, max_chars: usize) -> Range<usize> {
    let spare = max_chars.saturating_sub(text[place.clone()].chars().count());
    let mut start = before(text, place.start, spare / 2);
    let used = text[start..place.start].chars().count();
    let mut end = after(text, place.end, spare - used);
    // Spare length that the text after the range cannot fill is used before the range.
    let unused = spare - used - text[place.end..end].chars().count();
    start = before(text, start, unused);
    if start > 0 {
        start = boundaries(text, start..place.start)
            .next()
            .unwrap_or(place.start);
    }
    if end < text.len() {
        end = boundaries(text, place.end..end)
            .next_back()
            .unwrap_or(place.end);
    }
    start..end
}

fn render(text: &str, place: Range<usize>, marks: &[Mark], style: &Style) -> String {
    let mut out = String::with_capacity(place.len() * 2);
    let mut at = place.start;
    for range in merged(marks, &place) {
        escape(&text[at..range.start], &mut out);
        out.push_str(&style.pre_tag);
        escape(&text[range.clone()], &mut out);
        out.push_str(&style.post_tag);
        at = range.end;
    }
    escape(&text[at..place.end], &mut out);
    out.trim().to_string()
}

/// The marks within a passage. Overlapping marks, as grams produce them, are merged.
fn merged(marks: &[Mark], place: &Range<usize>) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for mark in marks {
        let start = mark.place.start.max(place.start);
        let end = mark.place.end.min(place.end);
        if start >= end {
            continue;
        }
        match ranges.last_mut() {
            Some(last) if start < last.end => last.end = last.end.max(end),
            _ => ranges.push(start..end),
        }
    }
    ranges
}

fn escape(text: &str, out: &mut String) {
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            letter => out.push(letter),
        }
    }
}
