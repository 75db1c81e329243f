//! Word segmentation for languages that are written without spaces.
//!
//! [`Split::Icu`] segments Chinese and Japanese (and Thai, Lao, Khmer and Burmese) with dictionaries that are compiled
//! in. [`Split::Cjk`] needs no dictionary: it makes overlapping pairs of every run of Chinese, Japanese or Korean
//! letters, so a query for a Korean noun matches the noun with any particle after it.

use std::ops::Range;

use icu_segmenter::options::WordBreakInvariantOptions;
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// How a text is split.
#[derive(Clone)]
pub enum Split {
    Icu {
        words: WordSegmenterBorrowed<'static>,
        /// Also splits words at every character that is neither letter nor digit.
        finely: bool,
    },
    Cjk,
}

impl Split {
    pub fn icu(finely: bool) -> Self {
        let words = WordSegmenter::new_dictionary(WordBreakInvariantOptions::default());
        Self::Icu { words, finely }
    }

    /// Passes the byte range of each word to `sink`, in order.
    fn each(&self, text: &str, sink: &mut dyn FnMut(Range<usize>)) {
        match self {
            Self::Icu { words, finely } => {
                let mut start = 0;
                for end in words.segment_str(text) {
                    let word = start..end;
                    start = end;
                    if *finely {
                        runs(text, word, sink);
                    } else if text[word.clone()].contains(char::is_alphanumeric) {
                        sink(word);
                    }
                }
            }
            Self::Cjk => runs(text, 0..text.len(), &mut |run| pairs(text, run, sink)),
        }
    }
}

/// Runs of letters and digits.
fn runs(text: &str, place: Range<usize>, sink: &mut dyn FnMut(Range<usize>)) {
    let mut start = None;
    for (offset, letter) in text[place.clone()].char_indices() {
        let at = place.start + offset;
        match (letter.is_alphanumeric(), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                sink(from..at);
                start = None;
            }
            _ => {}
        }
    }
    if let Some(from) = start {
        sink(from..place.end);
    }
}

/// Pairs of the unspaced letters of a run. A single unspaced letter is a token, and so is the text between unspaced
/// letters.
fn pairs(text: &str, run: Range<usize>, sink: &mut dyn FnMut(Range<usize>)) {
    let mut letters = text[run.clone()]
        .char_indices()
        .map(|(offset, letter)| {
            let start = run.start + offset;
            (start..start + letter.len_utf8(), is_unspaced(letter))
        })
        .peekable();
    let mut paired = false;
    while let Some((place, unspaced)) = letters.next() {
        let mut end = place.end;
        if !unspaced {
            while let Some((next, _)) = letters.next_if(|(_, unspaced)| !unspaced) {
                end = next.end;
            }
            sink(place.start..end);
            paired = false;
            continue;
        }
        match letters.peek() {
            Some((next, true)) => {
                sink(place.start..next.end);
                paired = true;
            }
            // The last letter of several is already part of a pair.
            _ if paired => paired = false,
            _ => sink(place),
        }
    }
}

/// A letter of Chinese, Japanese or Korean: a text may be cut before and after it.
pub fn is_unspaced(letter: char) -> bool {
    matches!(letter,
        '\u{1100}'..='\u{11FF}'      // Korean letters
        | '\u{2E80}'..='\u{2FDF}'    // radicals
        | '\u{3005}'..='\u{3007}'
        | '\u{3021}'..='\u{3029}'
        | '\u{3031}'..='\u{303C}'
        | '\u{3041}'..='\u{30FF}'    // Japanese syllables
        | '\u{3105}'..='\u{31FF}'
        | '\u{3400}'..='\u{4DBF}'    // Chinese
        | '\u{4E00}'..='\u{9FFF}'
        | '\u{A960}'..='\u{A97F}'
        | '\u{AC00}'..='\u{D7FF}'    // Korean syllables
        | '\u{F900}'..='\u{FAFF}'
        | '\u{FF66}'..='\u{FF9F}'    // narrow Japanese syllables
        | '\u{20000}'..='\u{3FFFF}')
}

impl Tokenizer for Split {
    type TokenStream<'a> = Words;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Words {
        let mut words = Words {
            tokens: Vec::new(),
            passed: 0,
        };
        self.each(text, &mut |place| {
            words.tokens.push(Token {
                offset_from: place.start,
                offset_to: place.end,
                position: words.tokens.len(),
                text: text[place].to_string(),
                position_length: 1,
            });
        });
        words
    }
}

/// The words of a text, one after the other.
pub struct Words {
    tokens: Vec<Token>,
    passed: usize,
}

impl TokenStream for Words {
    fn advance(&mut self) -> bool {
        let more = self.passed < self.tokens.len();
        self.passed += usize::from(more);
        more
    }

    fn token(&self) -> &Token {
        &self.tokens[self.passed - 1]
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.tokens[self.passed - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(mut split: Split, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        split.token_stream(text).process(&mut |token| {
            assert_eq!(&text[token.offset_from..token.offset_to], token.text);
            assert_eq!(token.position, found.len());
            found.push(token.text.clone());
        });
        found
    }

    #[test]
    fn dictionaries_know_words_without_spaces() {
        let icu = |text| words(Split::icu(false), text);
        assert_eq!(icu("我喜欢数据。"), ["我", "喜欢", "数据"]);
        assert_eq!(icu("東京都の天気"), ["東京", "都", "の", "天気"]);
        assert_eq!(icu("ภาษาไทย"), ["ภาษา", "ไทย"]);
        assert_eq!(icu("서울에서 만나요"), ["서울에서", "만나요"]);
        assert_eq!(icu("foo_bar 3.14, it's"), ["foo_bar", "3.14", "it's"]);
        assert_eq!(icu(""), [""; 0]);
        assert_eq!(icu(" …! "), [""; 0]);
    }

    #[test]
    fn fine_words_have_no_other_signs() {
        assert_eq!(
            words(Split::icu(true), "foo_bar 3.14, it's 数据"),
            ["foo", "bar", "3", "14", "it", "s", "数据"]
        );
    }

    #[test]
    fn pairs_overlap_and_other_words_are_whole() {
        let cjk = |text| words(Split::Cjk, text);
        assert_eq!(cjk("대한민국"), ["대한", "한민", "민국"]);
        assert_eq!(cjk("東京"), ["東京"]);
        assert_eq!(cjk("字"), ["字"]);
        assert_eq!(cjk("서울 시"), ["서울", "시"]);
        assert_eq!(cjk("well-known café"), ["well", "known", "café"]);
        assert_eq!(cjk("USB接続x字"), ["USB", "接続", "x", "字"]);
        assert_eq!(cjk(""), [""; 0]);
    }
}
