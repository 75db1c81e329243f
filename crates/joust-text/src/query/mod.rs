//! The query of a client, in one form for all wire formats and all execution strategies.

mod columns;
mod decode;
mod limits;
mod structure;
mod wire_format;

pub use decode::decode;
pub use limits::Limits;

use serde::Deserialize;

/// How the words of a match are combined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Operator {
    And,
    #[default]
    Or,
}

/// The most edits between a word of the query and a word of the text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub enum Fuzziness {
    #[default]
    Exact,
    /// 0 edits for words of up to 2 letters, 1 for up to 5, 2 for longer words.
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

/// Rows that contain words.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// `None`: the columns that have an index.
    pub column: Option<String>,
    pub terms: String,
    pub boost: f32,
    pub fuzziness: Fuzziness,
    /// The most terms that a fuzzy match expands to, over all words of the query.
    pub max_expansions: usize,
    pub operator: Operator,
    /// Letters at the beginning of a word that must match exactly.
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

/// Rows that contain words in this order.
#[derive(Debug, Clone, PartialEq)]
pub struct Phrase {
    /// `None`: the columns that have an index.
    pub column: Option<String>,
    pub terms: String,
    /// The most positions, in total, by which words may be off.
    pub slop: u32,
    pub granularity: Option<Granularity>,
}

/// Matches the words over several columns as if they were one text.
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
    /// Rows of `positive`. A row that `negative` matches, too, loses `negative_boost` times the score of `negative`.
    Boost {
        positive: Box<Query>,
        negative: Box<Query>,
        negative_boost: f32,
    },
    /// Rows of any of the queries, each with its best score.
    DisjunctionMax(Vec<Query>),
    CombinedFields(CombinedFields),
    /// Rows that match every `must` and no `must_not`, and, if there is no `must`, at least one `should`. The score is
    /// the sum of the scores of `must` and `should`.
    Boolean {
        must: Vec<Query>,
        should: Vec<Query>,
        must_not: Vec<Query>,
    },
}
