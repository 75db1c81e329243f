//! Text analysis: turns a text into terms.
//!
//! [`Params`] holds the parameters of a client, each of them optional. [`Analysis`] is complete and checked. Its JSON
//! uses the names of the interface; an index stores it as its description.

mod language;
mod terms;
mod words;

use serde::{Deserialize, Deserializer, Serialize};

pub use language::Language;
pub use terms::Analyzer;
pub(crate) use words::is_unspaced;

use crate::error::{Error, Result};

/// The largest gram length that a client may request.
const LONGEST_GRAM: u32 = 32;
/// The most custom stop words.
const MOST_STOP_WORDS: usize = 10_000;

/// Parameters of a client. An absent parameter takes its default.
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

/// Distinguishes null from absent.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<u32>>, D::Error> {
    Option::<u32>::deserialize(deserializer).map(Some)
}

/// How a text is split into tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tokenizer {
    /// Splits at every character that is neither letter nor digit.
    Simple,
    /// Splits at white space.
    Whitespace,
    /// One token: the whole text.
    Raw,
    /// Overlapping runs of characters.
    Ngram,
    /// Splits into words, including languages that are written without spaces.
    Icu,
    /// As [`Tokenizer::Icu`], and also splits at every character that is neither letter nor digit.
    #[serde(rename = "icu/split")]
    IcuSplit,
    /// As [`Tokenizer::Simple`], with Chinese, Japanese and Korean text in pairs of letters.
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

    /// Whether the tokens are words.
    fn finds_words(self) -> bool {
        !matches!(self, Self::Raw | Self::Ngram)
    }
}

/// A complete, checked description of an analysis. Two indexes with equal descriptions have equal terms.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Analysis {
    pub base_tokenizer: Tokenizer,
    pub language: Language,
    /// Whether positions are indexed. Phrase queries need them.
    pub with_position: bool,
    /// Tokens of at least this many bytes are dropped.
    pub max_token_length: Option<u32>,
    pub lower_case: bool,
    pub stem: bool,
    pub remove_stop_words: bool,
    /// Replaces the stop words of the language; sorted.
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
        // Grams and whole values are not words, so stemming is off unless requested.
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
            // No token is shorter than 0 bytes: 0, the smallest value of the interface, means no limit.
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

    /// Whether both produce the same terms for every text.
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
    fn stored_parameters_read_back_the_same() {
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
            // A client may send it back, too.
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
