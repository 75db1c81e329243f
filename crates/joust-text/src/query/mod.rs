//! What a client asks: one form for all wire forms and for every engine that answers.

mod columns;
mod decode;
mod form;
mod limits;
mod structure;

pub use decode::decode;
pub use limits::Limits;

use serde::Deserialize;

/// How the words of a match are taken together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Operator {
    And,
    #[default]
    Or,
}

/// How many edits away from a word of the query a word of the text may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub enum Fuzziness {
    #[default]
    Exact,
    /// None for words of up to 2 letters, one for up to 5, two for longer ones.
    Auto,
    Edits(u8),
}

impl Fuzziness {
    pub fn edits(self, word: &str) -> u8 {
        match self {
            Self::Exact => 0,
            Self::Edits(edits) => edits,
            Self::Auto => match word.chars().count() {
                0..=2 => 0,
                3..=5 => 1,
                _ => 2,
            },
        }
    }
}

/// What counts as one document in a list of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Granularity {
    Row,
    ListElement,
}

/// Rows that have words.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// `None`: the columns that have an index.
    pub column: Option<String>,
    pub terms: String,
    pub boost: f32,
    pub fuzziness: Fuzziness,
    /// Words that a fuzzy match may stand for, over all words of the query.
    pub max_expansions: usize,
    pub operator: Operator,
    /// Letters at the beginning of a word that must be as they are.
    pub prefix_length: usize,
    pub granularity: Option<Granularity>,
}

impl Match {
    pub fn new(terms: impl Into<String>) -> Self {
        Self {
            column: None,
            terms: terms.into(),
            boost: 1.0,
            fuzziness: Fuzziness::Exact,
            max_expansions: 50,
            operator: Operator::Or,
            prefix_length: 0,
            granularity: None,
        }
    }
}

/// Rows that have words in this order.
#[derive(Debug, Clone, PartialEq)]
pub struct Phrase {
    /// `None`: the columns that have an index.
    pub column: Option<String>,
    pub terms: String,
    /// How far, all together, words may be from their place.
    pub slop: u32,
    pub granularity: Option<Granularity>,
}

/// Words of one text that is spread over several columns.
#[derive(Debug, Clone, PartialEq)]
pub struct CombinedFields {
    pub terms: String,
    pub columns: Vec<String>,
    pub boost: Option<Vec<f32>>,
    pub operator: Operator,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Query {
    Match(Match),
    Phrase(Phrase),
    /// Rows of `positive`; those that `negative` finds too lose `negative_boost` of its score.
    Boost {
        positive: Box<Query>,
        negative: Box<Query>,
        negative_boost: f32,
    },
    /// Rows of any of the queries, each with its best score.
    Best(Vec<Query>),
    CombinedFields(CombinedFields),
    /// Rows of every `must` and no `must_not`, and of a `should` when there is no `must`; the scores
    /// of `must` and `should` are added.
    Boolean {
        must: Vec<Query>,
        should: Vec<Query>,
        must_not: Vec<Query>,
    },
}
