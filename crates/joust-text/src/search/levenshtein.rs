//! Levenshtein automaton for any number of edits.
//!
//! tantivy's automata end at two edits, because their tables grow exponentially with the edits. Here a state is a row
//! of the edit distance matrix, computed during the walk over the dictionary. The walk skips branches that exceed the
//! distance or have another prefix.

use tantivy_fst::Automaton;

/// Accepts terms within `edits` insertions, deletions or replacements of letters from a word.
pub struct Levenshtein {
    word: Vec<char>,
    /// The bytes with which an accepted term begins.
    prefix: Vec<u8>,
    edits: u8,
}

/// The state after some bytes of a term; `None` if no continuation can be accepted.
pub type State = Option<Reached>;

#[derive(Clone)]
pub struct Reached {
    /// Edits from the letters so far to each prefix of the word, from the empty one to the whole word. Values above the
    /// limit are stored as the limit plus one.
    row: Vec<u8>,
    /// Bytes so far.
    length: usize,
    /// The bytes of an incomplete letter, and their number.
    letter: [u8; 4],
    pending: usize,
}

impl Levenshtein {
    /// `prefix`: a prefix of `word` with which terms must begin.
    pub fn new(word: &str, prefix: &str, edits: u8) -> Self {
        Self {
            word: word.chars().collect(),
            prefix: prefix.as_bytes().to_vec(),
            edits,
        }
    }

    /// The row of the matrix after one more letter.
    fn next(&self, row: &[u8], letter: char) -> Vec<u8> {
        let most = self.edits + 1;
        let mut next = Vec::with_capacity(row.len());
        next.push((row[0] + 1).min(most));
        for (at, own) in self.word.iter().enumerate() {
            let replaced = row[at] + u8::from(*own != letter);
            let least = replaced.min(row[at + 1] + 1).min(next[at] + 1);
            next.push(least.min(most));
        }
        next
    }
}

impl Automaton for Levenshtein {
    type State = State;

    fn start(&self) -> State {
        let most = usize::from(self.edits) + 1;
        let row = (0..=self.word.len()).map(|letters| letters.min(most) as u8);
        Some(Reached {
            row: row.collect(),
            length: 0,
            letter: [0; 4],
            pending: 0,
        })
    }

    fn is_match(&self, state: &State) -> bool {
        state.as_ref().is_some_and(|reached| {
            reached.pending == 0
                && reached.length >= self.prefix.len()
                && reached.row.last().is_some_and(|edits| *edits <= self.edits)
        })
    }

    fn can_match(&self, state: &State) -> bool {
        state.is_some()
    }

    fn accept(&self, state: &State, byte: u8) -> State {
        let reached = state.as_ref()?;
        let wanted = self.prefix.get(reached.length);
        if wanted.is_some_and(|wanted| *wanted != byte) || reached.pending == 4 {
            return None;
        }
        let mut next = Reached {
            row: Vec::new(),
            length: reached.length + 1,
            letter: reached.letter,
            pending: reached.pending + 1,
        };
        next.letter[reached.pending] = byte;
        let letter = std::str::from_utf8(&next.letter[..next.pending]);
        next.row = match letter.ok().and_then(|letter| letter.chars().next()) {
            Some(letter) => {
                next.pending = 0;
                self.next(&reached.row, letter)
            }
            None => reached.row.clone(),
        };
        let is_near = next.row.iter().any(|edits| *edits <= self.edits);
        is_near.then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(automaton: &Levenshtein, term: &str) -> bool {
        let mut state = automaton.start();
        for byte in term.bytes() {
            state = automaton.accept(&state, byte);
        }
        automaton.is_match(&state)
    }

    #[test]
    fn a_term_is_accepted_up_to_the_edits() {
        for (word, term, edits) in [
            ("foo", "foo", 0),
            ("foo", "fob", 1),
            ("foo", "", 3),
            ("foo", "foobars", 4),
            ("naïve", "naive", 1),
            ("你好", "你", 1),
            ("kitten", "sitting", 3),
        ] {
            for most in 0..6 {
                let automaton = Levenshtein::new(word, "", most);
                assert_eq!(
                    accepts(&automaton, term),
                    edits <= most,
                    "{word} {term} {most}"
                );
            }
        }
    }

    #[test]
    fn a_term_without_the_required_prefix_is_not_accepted() {
        let automaton = Levenshtein::new("foo", "foo", 3);
        for (term, accepted) in [
            ("foo", true),
            ("food", true),
            ("foobar", true),
            ("fo", false),
            ("fob", false),
            ("foobarss", false),
        ] {
            assert_eq!(accepts(&automaton, term), accepted, "{term}");
        }
    }
}
