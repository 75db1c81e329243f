//! The wire formats of a text query, member by member. A member of the wrong type is rejected with its path, because
//! ignoring it would run a different query than the client sent.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::limits::MOST_EDITS;
use super::{Fuzziness, Granularity, Operator};
use crate::object::Object;

/// The value of `full_text_query`.
#[derive(Deserialize)]
pub struct FullTextQuery {
    #[serde(default)]
    pub string_query: Option<Object<Words>>,
    #[serde(default)]
    pub structured_query: Option<Object<Structured>>,
    /// Words or a structure.
    #[serde(default)]
    pub query: Option<Value>,
    #[serde(default)]
    pub columns: Option<Vec<String>>,
}

#[derive(Deserialize)]
pub struct Words {
    pub query: String,
    #[serde(default)]
    pub columns: Option<Vec<String>>,
}

#[derive(Deserialize)]
pub struct Structured {
    pub query: Value,
}

/// An object with one key.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Structure {
    Match(Object<Match>),
    Phrase(Object<Phrase>),
    Boost(Object<Boost>),
    MultiMatch(MultiMatch),
    CombinedFields(CombinedFields),
    Boolean(Boolean),
}

#[derive(Deserialize)]
pub struct Match {
    #[serde(default)]
    pub column: Option<Column>,
    pub terms: String,
    #[serde(default)]
    pub boost: Option<Weight>,
    /// `None`: absent. The meaning of null depends on the wire format.
    #[serde(default, deserialize_with = "present")]
    pub fuzziness: Option<Option<Fuzziness>>,
    #[serde(default)]
    pub max_expansions: Option<Within<1_000>>,
    #[serde(default)]
    pub operator: Option<Operator>,
    #[serde(default)]
    pub prefix_length: Option<Within<65_535>>,
    #[serde(default)]
    pub document_granularity: Option<Granularity>,
}

#[derive(Deserialize)]
pub struct Phrase {
    #[serde(default)]
    pub column: Option<Column>,
    pub terms: String,
    #[serde(default)]
    pub slop: Option<Within<100>>,
    #[serde(default)]
    pub document_granularity: Option<Granularity>,
}

#[derive(Deserialize)]
pub struct Boost {
    pub positive: Box<Structure>,
    pub negative: Box<Structure>,
    #[serde(default)]
    pub negative_boost: Option<Weight>,
}

/// One match for each column, or, from older SDKs, the words and the columns.
#[derive(Deserialize)]
#[serde(try_from = "Object<MultiMatchMembers>")]
pub enum MultiMatch {
    Each(Vec<Object<Match>>),
    Words(ManyColumns),
}

/// The same words in several columns.
pub struct ManyColumns {
    pub terms: String,
    pub columns: Vec<String>,
    /// One for each column.
    pub boost: Option<Vec<f32>>,
    pub operator: Operator,
}

#[derive(Deserialize)]
struct MultiMatchMembers {
    #[serde(default)]
    match_queries: Option<Vec<Object<Match>>>,
    #[serde(default)]
    query: Option<String>,
    #[serde(default)]
    columns: Option<Vec<String>>,
    #[serde(default)]
    boost: Option<Vec<Weight>>,
    #[serde(default)]
    operator: Option<Operator>,
}

impl TryFrom<Object<MultiMatchMembers>> for MultiMatch {
    type Error = &'static str;

    fn try_from(Object(members): Object<MultiMatchMembers>) -> Result<Self, Self::Error> {
        match (members.match_queries, members.query, members.columns) {
            (Some(queries), _, _) if !queries.is_empty() => Ok(Self::Each(queries)),
            (None, Some(terms), Some(columns)) if !columns.is_empty() => {
                let boost = one_each(&columns, members.boost)?;
                Ok(Self::Words(ManyColumns {
                    terms,
                    columns,
                    boost,
                    operator: members.operator.unwrap_or_default(),
                }))
            }
            _ => Err("give at least one of `match_queries`"),
        }
    }
}

#[derive(Deserialize)]
#[serde(try_from = "Object<CombinedFieldsMembers>")]
pub struct CombinedFields(pub ManyColumns);

#[derive(Deserialize)]
struct CombinedFieldsMembers {
    query: String,
    columns: Vec<String>,
    #[serde(default)]
    boost: Option<Vec<Weight>>,
    #[serde(default)]
    operator: Option<Operator>,
}

impl TryFrom<Object<CombinedFieldsMembers>> for CombinedFields {
    type Error = &'static str;

    fn try_from(Object(members): Object<CombinedFieldsMembers>) -> Result<Self, Self::Error> {
        if members.columns.is_empty() {
            return Err("give at least one of `columns`");
        }
        let boost = one_each(&members.columns, members.boost)?;
        Ok(Self(ManyColumns {
            terms: members.query,
            columns: members.columns,
            boost,
            operator: members.operator.unwrap_or_default(),
        }))
    }
}

fn one_each(
    columns: &[String],
    boosts: Option<Vec<Weight>>,
) -> Result<Option<Vec<f32>>, &'static str> {
    match boosts {
        Some(boosts) if boosts.len() != columns.len() => Err("give a `boost` for each column"),
        boosts => Ok(boosts.map(|boosts| boosts.into_iter().map(|Weight(boost)| boost).collect())),
    }
}

#[derive(Deserialize)]
#[serde(try_from = "Object<BooleanMembers>")]
pub struct Boolean {
    pub must: Vec<Structure>,
    pub should: Vec<Structure>,
    pub must_not: Vec<Structure>,
}

#[derive(Deserialize)]
struct BooleanMembers {
    #[serde(default)]
    must: Option<Vec<Structure>>,
    #[serde(default)]
    should: Option<Vec<Structure>>,
    #[serde(default)]
    must_not: Option<Vec<Structure>>,
}

impl TryFrom<Object<BooleanMembers>> for Boolean {
    type Error = &'static str;

    fn try_from(Object(members): Object<BooleanMembers>) -> Result<Self, Self::Error> {
        let must = members.must.unwrap_or_default();
        let should = members.should.unwrap_or_default();
        if must.is_empty() && should.is_empty() {
            return Err("give at least one query in `must` or `should`");
        }
        Ok(Self {
            must,
            should,
            must_not: members.must_not.unwrap_or_default(),
        })
    }
}

/// The name of a column.
#[derive(Deserialize)]
#[serde(try_from = "String")]
pub struct Column(pub String);

impl TryFrom<String> for Column {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        if name.is_empty() {
            Err("the name of a column is empty")
        } else {
            Ok(Self(name))
        }
    }
}

/// A factor that is not negative and fits a 32-bit float.
#[derive(Deserialize)]
#[serde(try_from = "f64")]
pub struct Weight(pub f32);

impl TryFrom<f64> for Weight {
    type Error = &'static str;

    fn try_from(weight: f64) -> Result<Self, Self::Error> {
        let single = weight as f32;
        if weight >= 0.0 && single.is_finite() {
            Ok(Self(single))
        } else {
            Err("give a number that is not negative")
        }
    }
}

/// A count from 0 to `MOST`.
#[derive(Deserialize)]
#[serde(try_from = "u64")]
pub struct Within<const MOST: u32>(pub u32);

impl<const MOST: u32> TryFrom<u64> for Within<MOST> {
    type Error = String;

    fn try_from(count: u64) -> Result<Self, Self::Error> {
        match u32::try_from(count) {
            Ok(count) if count <= MOST => Ok(Self(count)),
            _ => Err(format!("give a whole number from 0 to {MOST}")),
        }
    }
}

/// A number of edits, or the word that selects it by the length of each word.
impl TryFrom<Value> for Fuzziness {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        let is_auto = |word: &str| word.eq_ignore_ascii_case("auto");
        match value.as_u64().and_then(|edits| u8::try_from(edits).ok()) {
            Some(0) => Ok(Self::Exact),
            Some(edits) if edits <= MOST_EDITS => Ok(Self::Edits(edits)),
            _ if value.as_str().is_some_and(is_auto) => Ok(Self::Auto),
            _ => Err(format!(
                "give 0 to {MOST_EDITS} edits, or auto for what suits the length of a word"
            )),
        }
    }
}

/// Distinguishes null from absent.
fn present<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Some)
}

impl TryFrom<String> for Granularity {
    type Error = &'static str;

    fn try_from(word: String) -> Result<Self, Self::Error> {
        match word.as_str() {
            "row" => Ok(Self::Row),
            "list_element" => Ok(Self::ListElement),
            _ => Err("give row or list_element"),
        }
    }
}

impl TryFrom<String> for Operator {
    type Error = String;

    fn try_from(word: String) -> Result<Self, Self::Error> {
        match word.to_ascii_lowercase().as_str() {
            "and" => Ok(Self::And),
            "or" => Ok(Self::Or),
            _ => {
                let word: String = word.chars().take(40).collect();
                Err(format!("`{word}` is no operator; use And or Or"))
            }
        }
    }
}
