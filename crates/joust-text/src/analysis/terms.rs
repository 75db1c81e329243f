//! The compiled form of an analysis.

use tantivy::tokenizer::{
    AsciiFoldingFilter, LowerCaser, NgramTokenizer, RawTokenizer, RemoveLongFilter,
    SimpleTokenizer, Stemmer, StopWordFilter, TextAnalyzer, TextAnalyzerBuilder, Token,
    WhitespaceTokenizer,
};

use super::words::Split;
use super::{Analysis, Tokenizer};
use crate::error::Result;

/// Turns a text into terms. Cheap to clone.
#[derive(Clone)]
pub struct Analyzer(TextAnalyzer);

impl Analyzer {
    /// Removes stop words before stemming, because the lists contain whole words, and folds accents last, because
    /// stemmers need them.
    pub fn new(analysis: &Analysis) -> Result<Self> {
        let mut builder = base(analysis)?;
        if let Some(limit) = analysis.max_token_length {
            builder = builder.filter_dynamic(RemoveLongFilter::limit(limit as usize));
        }
        if analysis.lower_case {
            builder = builder.filter_dynamic(LowerCaser);
        }
        if analysis.remove_stop_words {
            let filter = match &analysis.custom_stop_words {
                Some(words) => Some(StopWordFilter::remove(words.iter().cloned())),
                None => StopWordFilter::new(analysis.language.stemmed()),
            };
            if let Some(filter) = filter {
                builder = builder.filter_dynamic(filter);
            }
        }
        if analysis.stem {
            builder = builder.filter_dynamic(Stemmer::new(analysis.language.stemmed()));
        }
        if analysis.ascii_folding {
            builder = builder.filter_dynamic(AsciiFoldingFilter);
        }
        Ok(Self(builder.build()))
    }

    pub(crate) fn inner(&self) -> TextAnalyzer {
        self.0.clone()
    }

    /// The terms of a text with their positions.
    pub fn terms(&self, text: &str) -> Vec<(usize, String)> {
        let mut terms = Vec::new();
        self.each(text, &mut |token| {
            terms.push((token.position, token.text.clone()));
        });
        terms
    }

    /// Every token of a text, with its byte range.
    pub fn each(&self, text: &str, sink: &mut dyn FnMut(&Token)) {
        self.0.clone().token_stream(text).process(sink);
    }
}

fn base(analysis: &Analysis) -> Result<TextAnalyzerBuilder> {
    Ok(match analysis.base_tokenizer {
        Tokenizer::Simple => TextAnalyzer::builder(SimpleTokenizer::default()).dynamic(),
        Tokenizer::Whitespace => TextAnalyzer::builder(WhitespaceTokenizer::default()).dynamic(),
        Tokenizer::Raw => TextAnalyzer::builder(RawTokenizer::default()).dynamic(),
        Tokenizer::Ngram => TextAnalyzer::builder(NgramTokenizer::new(
            analysis.min_ngram_length as usize,
            analysis.max_ngram_length as usize,
            analysis.prefix_only,
        )?)
        .dynamic(),
        Tokenizer::Icu => TextAnalyzer::builder(Split::icu(false)).dynamic(),
        Tokenizer::IcuSplit => TextAnalyzer::builder(Split::icu(true)).dynamic(),
        Tokenizer::Cjk => TextAnalyzer::builder(Split::Cjk).dynamic(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Params;

    fn terms(json: &str, text: &str) -> Vec<String> {
        let params: Params = serde_json::from_str(json).unwrap();
        let analysis = Analysis::new(&params).unwrap();
        let analyzer = Analyzer::new(&analysis).unwrap();
        analyzer
            .terms(text)
            .into_iter()
            .map(|(_, term)| term)
            .collect()
    }

    #[test]
    fn english_is_the_default() {
        assert_eq!(
            terms("{}", "The Cafés are running well-known ponies"),
            ["cafe", "run", "well", "known", "poni"]
        );
    }

    #[test]
    fn every_parameter_has_its_effect() {
        let text = "The Cafés RUN";
        assert_eq!(
            terms(r#"{"lower_case":false,"stem":false}"#, text),
            ["The", "Cafes", "RUN"]
        );
        assert_eq!(
            terms(r#"{"ascii_folding":false,"stem":false}"#, text),
            ["cafés", "run"]
        );
        assert_eq!(
            terms(r#"{"remove_stop_words":false}"#, text),
            ["the", "cafe", "run"]
        );
        assert_eq!(
            terms(r#"{"custom_stop_words":["RUN"]}"#, text),
            ["the", "cafe"]
        );
        assert_eq!(terms(r#"{"max_token_length":4}"#, text), ["run"]);
        assert_eq!(
            terms(r#"{"base_tokenizer":"whitespace","stem":false}"#, "a-b c"),
            ["a-b", "c"]
        );
        assert_eq!(terms(r#"{"base_tokenizer":"raw"}"#, "A b"), ["a b"]);
        assert_eq!(
            terms(r#"{"base_tokenizer":"ngram"}"#, "abcd"),
            ["abc", "bcd"]
        );
        assert_eq!(
            terms(
                r#"{"base_tokenizer":"ngram","min_ngram_length":1,"max_ngram_length":2,"prefix_only":true}"#,
                "abcd"
            ),
            ["a", "ab"]
        );
    }

    #[test]
    fn stop_words_are_known_by_their_whole_form() {
        assert_eq!(
            terms(r#"{"custom_stop_words":["running"]}"#, "running runs"),
            ["run"]
        );
    }

    #[test]
    fn languages_have_their_own_stems() {
        assert_eq!(
            terms(r#"{"language":"german"}"#, "die Häuser"),
            terms(r#"{"language":"german"}"#, "Hauses"),
        );
        assert_eq!(
            terms(r#"{"language":"French"}"#, "continuellement"),
            ["continuel"]
        );
    }

    #[test]
    fn a_removed_word_leaves_its_position() {
        let analysis = Analysis::new(&Params::default()).unwrap();
        let analyzer = Analyzer::new(&analysis).unwrap();
        assert_eq!(
            analyzer.terms("state of art"),
            [(0, "state".to_string()), (2, "art".to_string())]
        );
    }
}
