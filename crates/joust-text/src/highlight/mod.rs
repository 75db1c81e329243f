//! Highlighting: passages of a text that matched a query, with the matched words in tags.
//!
//! The text is analyzed again, as at index time, and its terms are compared with the terms of the plan. Stems, folded
//! letters and fuzzy terms are therefore marked at their positions, and the words of a phrase only where the whole
//! phrase matches.

mod fragments;
mod marks;

use std::collections::HashSet;

use serde::Deserialize;

use crate::analysis::Analyzer;
use crate::error::{Error, Result};
use crate::search::{Plan, Sought};

/// Options of passages.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Style {
    pub pre_tag: String,
    pub post_tag: String,
    /// Characters of a passage, not counting tags and escapes.
    pub max_chars: usize,
    /// Passages of a text.
    pub fragments: usize,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            pre_tag: "<em>".to_string(),
            post_tag: "</em>".to_string(),
            max_chars: 160,
            fragments: 3,
        }
    }
}

impl Style {
    pub fn check(&self) -> Result<()> {
        const LONGEST_TAG: usize = 100;
        if self.pre_tag.len().max(self.post_tag.len()) > LONGEST_TAG {
            return Err(Error::invalid(format!(
                "`pre_tag` and `post_tag` of a highlight may have {LONGEST_TAG} bytes each"
            )));
        }
        if !(1..=10_000).contains(&self.max_chars) {
            return Err(Error::invalid(format!(
                "`max_chars` {} of a highlight is not possible; give a number from 1 to 10000",
                self.max_chars
            )));
        }
        if !(1..=100).contains(&self.fragments) {
            return Err(Error::invalid(format!(
                "`fragments` {} of a highlight is not possible; give a number from 1 to 100",
                self.fragments
            )));
        }
        Ok(())
    }
}

/// Marks the words of one column that match a plan.
pub struct Highlighter {
    analyzer: Analyzer,
    terms: HashSet<String>,
    phrases: Vec<marks::Phrase>,
}

impl Highlighter {
    /// `None` when the plan does not search the column.
    pub fn new(plan: &Plan, column: &str) -> Option<Self> {
        let (_, view) = plan.columns().find(|(name, _)| *name == column)?;
        let mut terms = HashSet::new();
        let mut phrases = Vec::new();
        plan.sought(column, &mut |sought| match sought {
            Sought::Term(text) => {
                terms.insert(text.to_string());
            }
            Sought::Phrase(terms, slop) => phrases.push(marks::Phrase::new(terms, slop)),
        });
        Some(Self {
            analyzer: view.analyzer().clone(),
            terms,
            phrases,
        })
    }

    /// Passages of a text, escaped for HTML, in the order of the text. Empty if no word matches.
    pub fn passages(&self, text: &str, style: &Style) -> Vec<String> {
        let marks = marks::find(&self.analyzer, text, &self.terms, &self.phrases);
        fragments::cut(text, &marks, style)
    }
}

#[cfg(test)]
mod tests {
    // Literals read better than references to them.
    #![allow(clippy::needless_pass_by_value)]

    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::analysis::{Analysis, Params};
    use crate::query::{CombinedFields, Fuzziness, Limits, Match, Operator, Phrase, Query};
    use crate::segment::Builder;
    use crate::view::{Part, View};

    fn highlight(params: &str, query: Query, text: &str, style: &Style) -> Vec<String> {
        let params: Params = serde_json::from_str(params).unwrap();
        let analysis = Arc::new(Analysis::new(&params).unwrap());
        let mut builder = Builder::in_memory(&analysis, Path::new("none"), usize::MAX).unwrap();
        builder.add(1, [text]).unwrap();
        let segment = builder.finish().unwrap().unwrap().open().unwrap();
        let parts = vec![Arc::new(Part::whole(segment).unwrap())];
        let view = Arc::new(View::new(analysis, parts).unwrap());
        let columns = vec![("x".to_string(), view)];
        let plan = Plan::new(&query, columns, Limits::default(), &|| false).unwrap();
        Highlighter::new(&plan, "x").unwrap().passages(text, style)
    }

    fn words(terms: &str) -> Query {
        Query::Match(Match {
            column: Some("x".into()),
            ..Match::new(terms)
        })
    }

    fn phrase(terms: &str, slop: u32) -> Query {
        Query::Phrase(Phrase {
            column: Some("x".into()),
            terms: terms.into(),
            slop,
            granularity: None,
        })
    }

    const POSITIONS: &str = r#"{"with_position":true}"#;

    #[test]
    fn stems_and_accents_are_marked_as_they_stand() {
        assert_eq!(
            highlight(
                "{}",
                words("run cafe"),
                "He runs to the Café.",
                &Style::default()
            ),
            ["He <em>runs</em> to the <em>Café</em>."]
        );
    }

    #[test]
    fn what_a_fuzzy_word_stands_for_is_marked() {
        let query = Query::Match(Match {
            column: Some("x".into()),
            fuzziness: Fuzziness::Edits(1),
            ..Match::new("serch")
        });
        assert_eq!(
            highlight("{}", query, "a search of church", &Style::default()),
            ["a <em>search</em> of church"]
        );
    }

    #[test]
    fn words_of_a_phrase_are_marked_only_as_the_phrase() {
        let text = "new york is not york new, but new old york is near";
        assert_eq!(
            highlight(POSITIONS, phrase("new york", 0), text, &Style::default()),
            ["<em>new</em> <em>york</em> is not york new, but new old york is near"]
        );
        assert_eq!(
            highlight(POSITIONS, phrase("new york", 1), text, &Style::default()),
            [
                "<em>new</em> <em>york</em> is not york new, but <em>new</em> old <em>york</em> is near"
            ]
        );
    }

    #[test]
    fn words_of_several_columns_are_marked_in_each() {
        let query = Query::CombinedFields(CombinedFields {
            terms: "runs cat".into(),
            columns: vec!["x".into()],
            boost: None,
            operator: Operator::Or,
        });
        assert_eq!(
            highlight("{}", query, "a cat is running", &Style::default()),
            ["a <em>cat</em> is <em>running</em>"]
        );
    }

    #[test]
    fn what_must_not_be_there_is_not_marked() {
        let query = Query::Boolean {
            must: vec![words("cat")],
            should: vec![],
            must_not: vec![words("dog")],
        };
        assert_eq!(
            highlight("{}", query, "cat dog", &Style::default()),
            ["<em>cat</em> dog"]
        );
    }

    #[test]
    fn text_is_escaped_and_tags_are_not() {
        let style = Style {
            pre_tag: "<b class=\"x\">".into(),
            post_tag: "</b>".into(),
            ..Style::default()
        };
        assert_eq!(
            highlight(
                "{}",
                words("cat"),
                "<script>'cat' & \"dog\"</script>",
                &style
            ),
            ["&lt;script&gt;&#39;<b class=\"x\">cat</b>&#39; &amp; &quot;dog&quot;&lt;/script&gt;"]
        );
    }

    #[test]
    fn overlapping_grams_are_one_mark() {
        assert_eq!(
            highlight(
                r#"{"base_tokenizer":"ngram"}"#,
                words("abcd"),
                "xabcdx",
                &Style::default()
            ),
            ["x<em>abcd</em>x"]
        );
    }

    #[test]
    fn the_best_passages_come_in_the_order_of_the_text() {
        let filler = "filler ".repeat(30);
        let text = format!("cat one {filler} cat two dog {filler} dog three {filler}");
        let style = Style {
            max_chars: 24,
            fragments: 2,
            ..Style::default()
        };
        let found = highlight("{}", words("cat dog"), &text, &style);
        assert_eq!(found.len(), 2);
        assert!(found[0].contains("<em>cat</em> one"), "{found:?}");
        assert!(
            found[1].contains("<em>cat</em> two <em>dog</em>"),
            "{found:?}"
        );
        for passage in &found {
            let plain = passage.replace("<em>", "").replace("</em>", "");
            assert!(plain.chars().count() <= 24, "{plain}");
        }
    }

    #[test]
    fn letters_of_several_bytes_are_never_cut() {
        let text = "größe äöü ".repeat(50);
        for max_chars in 1..40 {
            let style = Style {
                max_chars,
                ..Style::default()
            };
            let found = highlight("{}", words("größe"), &text, &style);
            assert_eq!(found.len(), 3, "{max_chars}");
            for passage in &found {
                let plain = passage.replace("<em>", "").replace("</em>", "");
                assert!(plain.chars().count() <= max_chars, "{max_chars}: {plain}");
            }
        }
    }

    #[test]
    fn words_without_spaces_are_marked_where_they_stand() {
        let icu = r#"{"base_tokenizer":"icu"}"#;
        assert_eq!(
            highlight(icu, words("数据"), "我喜欢数据。", &Style::default()),
            ["我喜欢<em>数据</em>。"]
        );
        assert_eq!(
            highlight(
                r#"{"base_tokenizer":"cjk"}"#,
                words("대한민국"),
                "그는 대한민국의 사람이다",
                &Style::default()
            ),
            ["그는 <em>대한민국</em>의 사람이다"]
        );
        let style = Style {
            max_chars: 10,
            ..Style::default()
        };
        let text = format!("{}数据{}", "我喜欢".repeat(9), "很好".repeat(9));
        let found = highlight(icu, words("数据"), &text, &style);
        assert_eq!(found, ["欢我喜欢<em>数据</em>很好很好"]);
    }

    #[test]
    fn a_text_without_the_words_has_no_passage() {
        assert!(highlight("{}", words("cat"), "dog", &Style::default()).is_empty());
        assert!(highlight("{}", words("the"), "the dog", &Style::default()).is_empty());
    }

    #[test]
    fn impossible_styles_are_refused() {
        for style in [
            Style {
                max_chars: 0,
                ..Style::default()
            },
            Style {
                fragments: 0,
                ..Style::default()
            },
            Style {
                pre_tag: "x".repeat(101),
                ..Style::default()
            },
        ] {
            assert!(style.check().is_err(), "{style:?}");
        }
    }
}
