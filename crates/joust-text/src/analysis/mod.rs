//! How a text becomes terms.
//!
//! [`Params`] is what a client may leave out; [`Analysis`] is complete and checked. Its JSON has the
//! names of the interface and is what an index keeps about itself.

mod language;
mod terms;
mod words;

use serde::{Deserialize, Deserializer, Serialize};

pub use language::Language;
pub use terms::Analyzer;
pub(crate) use words::is_unspaced;

use crate::error::{Error, Result};

/// The longest gram that can be asked for.
const LONGEST_GRAM: u32 = 32;
/// Most stop words of one's own.
const MOST_STOP_WORDS: usize = 10_000;

/// Parameters as a client gives them; what is absent has a default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Params {
    pub with_position: Option<bool>,
    pub base_tokenizer: Option<String>,
    pub language: Option<String>,
    /// Absent: 40. Null: no limit.
    #[serde(deserialize_with = "given")]
    pub max_token_length: Option<Option<u32>>,
    pub lower_case: Option<bool>,
    pub stem: Option<bool>,
    pub remove_stop_words: Option<bool>,
    pub custom_stop_words: Option<Vec<String>>,
    pub ascii_folding: Option<bool>,
    pub min_ngram_length: Option<u32>,
    pub max_ngram_length: Option<u32>,
    pub prefix_only: Option<bool>,
}

/// Tells null from absent.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<u32>>, D::Error> {
    Option::<u32>::deserialize(deserializer).map(Some)
}

/// What splits a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tokenizer {
    /// At everything that is neither letter nor digit.
    Simple,
    /// At white space.
    Whitespace,
    /// Not at all.
    Raw,
    /// Into overlapping runs of characters.
    Ngram,
    /// Into words, also of languages that are written without spaces.
    Icu,
    /// The same, and at everything that is neither letter nor digit.
    #[serde(rename = "icu/split")]
    IcuSplit,
    /// As [`Tokenizer::Simple`], and Chinese, Japanese and Korean into pairs of letters.
    Cjk,
}

impl Tokenizer {
    const ALL: [(&'static str, Self); 7] = [
        ("simple", Self::Simple),
        ("whitespace", Self::Whitespace),
        ("raw", Self::Raw),
        ("ngram", Self::Ngram),
        ("icu", Self::Icu),
        ("icu/split", Self::IcuSplit),
        ("cjk", Self::Cjk),
    ];

    fn parse(name: &str) -> Result<Self> {
        let known = Self::ALL
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        known.map(|(_, tokenizer)| *tokenizer).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|(name, _)| *name).collect();
            Error::invalid(format!(
                "`base_tokenizer` `{name}` is not one of an FTS index; use one of {}",
                names.join(", ")
            ))
        })
    }

    /// What it finds are words.
    fn finds_words(self) -> bool {
        !matches!(self, Self::Raw | Self::Ngram)
    }
}

/// A complete, checked description of how texts become terms. Two indexes with equal ones have equal
/// terms.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Analysis {
    pub base_tokenizer: Tokenizer,
    pub language: Language,
    /// Positions of words are kept, which phrases need.
    pub with_position: bool,
    /// Only tokens of fewer bytes are kept.
    pub max_token_length: Option<u32>,
    pub lower_case: bool,
    pub stem: bool,
    pub remove_stop_words: bool,
    /// In place of the language's list; sorted.
    pub custom_stop_words: Option<Vec<String>>,
    pub ascii_folding: bool,
    pub min_ngram_length: u32,
    pub max_ngram_length: u32,
    /// Only grams at the beginning of the text.
    pub prefix_only: bool,
}

impl Analysis {
    pub fn new(params: &Params) -> Result<Self> {
        let base_tokenizer = match params.base_tokenizer.as_deref() {
            None => Tokenizer::Simple,
            Some(name) => Tokenizer::parse(name)?,
        };
        let language = match params.language.as_deref() {
            None => Language::English,
            Some(name) => Language::parse(name)?,
        };
        // Grams and whole values are no words: there is nothing to stem unless it is asked for.
        let words = base_tokenizer.finds_words();
        let lower_case = params.lower_case.unwrap_or(true);
        let custom_stop_words = params
            .custom_stop_words
            .as_ref()
            .map(|list| stop_words(list, lower_case))
            .transpose()?;
        let has_list = custom_stop_words.is_some() || language.has_stop_words();
        if params.remove_stop_words == Some(true) && !has_list {
            return Err(Error::invalid(format!(
                "there is no list of stop words for {}; set `remove_stop_words` to false or give \
                 `custom_stop_words`",
                language.name()
            )));
        }
        let min_ngram_length = params.min_ngram_length.unwrap_or(3);
        let max_ngram_length = params
            .max_ngram_length
            .unwrap_or_else(|| min_ngram_length.max(3));
        check_grams(min_ngram_length, max_ngram_length)?;
        Ok(Self {
            base_tokenizer,
            language,
            with_position: params.with_position.unwrap_or(false),
            // Nothing is shorter than 0 bytes: the least limit of the interface means none.
            max_token_length: params
                .max_token_length
                .unwrap_or(Some(40))
                .filter(|limit| *limit > 0),
            lower_case,
            stem: params.stem.unwrap_or(words),
            remove_stop_words: params.remove_stop_words.unwrap_or(words && has_list),
            custom_stop_words,
            ascii_folding: params.ascii_folding.unwrap_or(true),
            min_ngram_length,
            max_ngram_length,
            prefix_only: params.prefix_only.unwrap_or(false),
        })
    }

    /// Whether both make the same terms of every text.
    pub fn is_like(&self, other: &Self) -> bool {
        let with_position = self.with_position;
        *self
            == Self {
                with_position,
                ..other.clone()
            }
    }
}

fn stop_words(list: &[String], lower_case: bool) -> Result<Vec<String>> {
    if list.len() > MOST_STOP_WORDS {
        return Err(Error::invalid(format!(
            "`custom_stop_words` has {} words; give at most {MOST_STOP_WORDS}",
            list.len()
        )));
    }
    let mut words: Vec<String> = list
        .iter()
        .map(|word| match lower_case {
            true => word.to_lowercase(),
            false => word.clone(),
        })
        .collect();
    words.sort_unstable();
    words.dedup();
    Ok(words)
}

fn check_grams(least: u32, greatest: u32) -> Result<()> {
    if least == 0 || least > greatest || greatest > LONGEST_GRAM {
        return Err(Error::invalid(format!(
            "`min_ngram_length` {least} and `max_ngram_length` {greatest} are not possible; give \
             1 <= min <= max <= {LONGEST_GRAM}"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn analysis(json: &str) -> Analysis {
        Analysis::new(&serde_json::from_str(json).unwrap()).unwrap()
    }

    fn refusal(json: &str) -> String {
        Analysis::new(&serde_json::from_str(json).unwrap())
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn what_is_kept_reads_back_the_same() {
        for json in [
            "{}",
            r#"{"base_tokenizer":"ngram","min_ngram_length":2,"prefix_only":true}"#,
            r#"{"base_tokenizer":"ICU/split"}"#,
            r#"{"base_tokenizer":"cjk"}"#,
            r#"{"language":"greek","custom_stop_words":["B","a","b"],"max_token_length":null}"#,
        ] {
            let analysis = analysis(json);
            let kept = serde_json::to_string(&analysis).unwrap();
            assert_eq!(serde_json::from_str::<Analysis>(&kept).unwrap(), analysis);
            // It is also what a client may send.
            assert_eq!(self::analysis(&kept), analysis, "{kept}");
        }
    }

    #[test]
    fn a_null_limit_is_no_limit() {
        assert_eq!(analysis("{}").max_token_length, Some(40));
        assert_eq!(
            analysis(r#"{"max_token_length":null}"#).max_token_length,
            None
        );
        assert_eq!(analysis(r#"{"max_token_length":0}"#).max_token_length, None);
    }

    #[test]
    fn a_refusal_says_what_would_be_right() {
        assert!(refusal(r#"{"base_tokenizer":"jieba"}"#).contains("simple, whitespace"));
        assert!(refusal(r#"{"language":"Klingon"}"#).contains("English"));
        assert!(
            refusal(r#"{"language":"Arabic","remove_stop_words":true}"#)
                .contains("custom_stop_words")
        );
        assert!(refusal(r#"{"min_ngram_length":4,"max_ngram_length":3}"#).contains("min <= max"));
        assert!(refusal(r#"{"min_ngram_length":0}"#).contains("1 <="));
    }

    #[test]
    fn stop_words_are_on_where_there_is_a_list() {
        assert!(analysis(r#"{"language":"French"}"#).remove_stop_words);
        assert!(!analysis(r#"{"language":"Arabic"}"#).remove_stop_words);
        assert!(!analysis(r#"{"base_tokenizer":"raw"}"#).remove_stop_words);
    }
}
