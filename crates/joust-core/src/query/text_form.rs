//! The form of a `full_text_query`, in both dialects. Lance's own reader passes over what it can't
//! use, such as a `boost` that is no number; a client would never learn of it.

// What is read here only has to be there: the values are used by `text`.
#![allow(dead_code)]

use serde::Deserialize;
use serde_json::Value;

use super::object::Object;
use crate::error::{Error, Result};

/// Refuses what is not `{string_query: {query, columns}}`, `{structured_query: {query}}` or the
/// SDKs' `{query, columns}`.
pub fn check(value: &Value) -> Result<()> {
    let form: Object<Form> = read(value, "")?;
    let Form {
        string_query,
        structured_query,
        query,
        columns,
    } = form.0;
    match (string_query, structured_query, query) {
        (Some(_), None, None) if columns.is_none() => Ok(()),
        (None, Some(Object(inner)), None) if columns.is_none() => {
            read::<Structure>(&inner.query, ".structured_query.query").map(drop)
        }
        (None, None, Some(Value::String(_))) => Ok(()),
        (None, None, Some(structure)) if columns.is_none() => {
            read::<Structure>(&structure, ".query").map(drop)
        }
        (None, None, Some(_)) => Err(Error::invalid(
            "`full_text_query`: a structure names its columns itself; leave `columns` out",
        )),
        _ => Err(Error::invalid(
            "`full_text_query` takes one of `string_query`, `structured_query` and `query`",
        )),
    }
}

fn read<'a, T: Deserialize<'a>>(value: &'a Value, place: &str) -> Result<T> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = match error.path().to_string().as_str() {
            "." => String::new(),
            path => format!(".{path}"),
        };
        Error::invalid(format!(
            "the query can't be read: `full_text_query{place}{path}`: {}",
            error.inner()
        ))
    })
}

#[derive(Deserialize)]
struct Form {
    #[serde(default)]
    string_query: Option<Object<Words>>,
    #[serde(default)]
    structured_query: Option<Object<Structured>>,
    #[serde(default)]
    query: Option<Value>,
    #[serde(default)]
    columns: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Words {
    query: String,
    #[serde(default)]
    columns: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Structured {
    query: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Structure {
    Match(Object<Match>),
    Phrase(Object<Phrase>),
    Boost(Object<Boost>),
    MultiMatch(MultiMatch),
    CombinedFields(CombinedFields),
    Boolean(Boolean),
}

#[derive(Deserialize)]
struct Match {
    #[serde(default)]
    column: Option<Column>,
    terms: String,
    #[serde(default)]
    boost: Option<Weight>,
    #[serde(default)]
    fuzziness: Option<Fuzziness>,
    #[serde(default)]
    max_expansions: Option<Within<1_000>>,
    #[serde(default)]
    operator: Option<Operator>,
    #[serde(default)]
    prefix_length: Option<Within<65_535>>,
    #[serde(default)]
    document_granularity: Option<Granularity>,
}

#[derive(Deserialize)]
struct Phrase {
    #[serde(default)]
    column: Option<Column>,
    terms: String,
    #[serde(default)]
    slop: Option<Within<100>>,
    #[serde(default)]
    document_granularity: Option<Granularity>,
}

#[derive(Deserialize)]
struct Boost {
    positive: Box<Structure>,
    negative: Box<Structure>,
    #[serde(default)]
    negative_boost: Option<Weight>,
}

/// One match for each column, or, from older SDKs, the words and the columns.
#[derive(Deserialize)]
#[serde(try_from = "Object<MultiMatchMembers>")]
struct MultiMatch;

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
            (Some(queries), _, _) if !queries.is_empty() => Ok(Self),
            (None, Some(_), Some(columns)) if !columns.is_empty() => {
                one_each(&columns, members.boost.as_deref()).map(|()| Self)
            }
            _ => Err("give at least one of `match_queries`"),
        }
    }
}

#[derive(Deserialize)]
#[serde(try_from = "Object<CombinedFieldsMembers>")]
struct CombinedFields;

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
        one_each(&members.columns, members.boost.as_deref()).map(|()| Self)
    }
}

fn one_each(columns: &[String], boosts: Option<&[Weight]>) -> Result<(), &'static str> {
    match boosts {
        Some(boosts) if boosts.len() != columns.len() => Err("give a `boost` for each column"),
        _ => Ok(()),
    }
}

#[derive(Deserialize)]
#[serde(try_from = "Object<BooleanMembers>")]
struct Boolean;

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
        let clauses = |some: Option<Vec<Structure>>| some.map_or(0, |some| some.len());
        if clauses(members.must) + clauses(members.should) > 0 {
            Ok(Self)
        } else {
            Err("give at least one query in `must` or `should`")
        }
    }
}

/// The name of a column.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Column;

impl TryFrom<String> for Column {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        if name.is_empty() {
            Err("the name of a column is empty")
        } else {
            Ok(Self)
        }
    }
}

/// A factor that is not negative and fits a 32-bit float.
#[derive(Deserialize)]
#[serde(try_from = "f64")]
struct Weight;

impl TryFrom<f64> for Weight {
    type Error = &'static str;

    fn try_from(weight: f64) -> Result<Self, Self::Error> {
        if weight >= 0.0 && (weight as f32).is_finite() {
            Ok(Self)
        } else {
            Err("give a number that is not negative")
        }
    }
}

/// A count from 0 to `MOST`.
#[derive(Deserialize)]
#[serde(try_from = "u64")]
struct Within<const MOST: u64>;

impl<const MOST: u64> TryFrom<u64> for Within<MOST> {
    type Error = String;

    fn try_from(count: u64) -> Result<Self, Self::Error> {
        if count <= MOST {
            Ok(Self)
        } else {
            Err(format!("give a whole number from 0 to {MOST}"))
        }
    }
}

/// 0, 1 or 2 edits, or the word for what suits the length of a word.
#[derive(Deserialize)]
#[serde(try_from = "Value")]
struct Fuzziness;

impl TryFrom<Value> for Fuzziness {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        let edits = value.as_u64().is_some_and(|edits| edits <= 2);
        let auto = value
            .as_str()
            .is_some_and(|word| word.eq_ignore_ascii_case("auto"));
        if edits || auto {
            Ok(Self)
        } else {
            Err("give 0, 1 or 2 edits, or null for what suits the length of a word")
        }
    }
}

/// What counts as a document of a column of lists.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Granularity;

impl TryFrom<String> for Granularity {
    type Error = &'static str;

    fn try_from(word: String) -> Result<Self, Self::Error> {
        if ["row", "list_element"].contains(&word.as_str()) {
            Ok(Self)
        } else {
            Err("give row or list_element")
        }
    }
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Operator;

impl TryFrom<String> for Operator {
    type Error = String;

    fn try_from(word: String) -> Result<Self, Self::Error> {
        if ["and", "or"].contains(&word.to_ascii_lowercase().as_str()) {
            Ok(Self)
        } else {
            let word: String = word.chars().take(40).collect();
            Err(format!("`{word}` is no operator; use And or Or"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(json: &str) -> Option<String> {
        check(&serde_json::from_str(json).unwrap())
            .err()
            .map(|error| error.to_string())
    }

    #[test]
    fn every_form_is_taken() {
        for json in [
            r#"{"string_query":{"query":"a","columns":["b"]}}"#,
            r#"{"structured_query":{"query":{"match":{"terms":"a","operator":"And","fuzziness":null}}}}"#,
            r#"{"query":"a","columns":[]}"#,
            r#"{"query":{"phrase":{"terms":"a b","slop":1}}}"#,
            r#"{"query":{"multi_match":{"query":"a","columns":["b"],"boost":[2]}}}"#,
            r#"{"query":{"multi_match":{"match_queries":[{"terms":"a","column":"b"}]}}}"#,
            r#"{"query":{"combined_fields":{"query":"a","columns":["b"],"operator":"or"}}}"#,
            r#"{"query":{"boolean":{"should":[{"match":{"terms":"a"}}],"must":[],"must_not":[]}}}"#,
        ] {
            assert_eq!(refusal(json), None, "{json}");
        }
    }

    #[test]
    fn a_refusal_names_the_member() {
        for (json, member) in [
            (
                r#"{"query":{"match":{"terms":"a","boost":"x"}}}"#,
                "query.match.boost",
            ),
            (
                r#"{"query":{"match":{"terms":"a","operator":"xor"}}}"#,
                "And or Or",
            ),
            (
                r#"{"query":{"match":{"terms":"a","fuzziness":3}}}"#,
                "fuzziness",
            ),
            (r#"{"query":{"match":{"terms":"a","boost":-1}}}"#, "boost"),
            (r#"{"query":{"match":{"terms":"a","column":""}}}"#, "column"),
            (r#"{"query":{"phrase":{"terms":"a","slop":101}}}"#, "slop"),
            (
                r#"{"query":{"combined_fields":{"query":"a","columns":["b"],"boost":[]}}}"#,
                "boost",
            ),
            (
                r#"{"query":{"boolean":{"must_not":[{"match":{"terms":"a"}}]}}}"#,
                "should",
            ),
            (r#"{"query":{"match":{}}}"#, "terms"),
            (r#"{"query":{"regex":{}}}"#, "regex"),
            (r#"{"query":{"match":["a"]}}"#, "expected an object"),
            (
                r#"{"query":{"multi_match":{"match_queries":[]}}}"#,
                "match_queries",
            ),
            (
                r#"{"query":{"match":{"terms":"a"}},"columns":["b"]}"#,
                "columns",
            ),
            (
                r#"{"string_query":{"query":"a"},"query":"b"}"#,
                "string_query",
            ),
            (r#"{"string_query":{"query":1}}"#, "string_query.query"),
            ("{}", "string_query"),
        ] {
            let text = refusal(json).unwrap_or_default();
            assert!(text.contains(member), "{json}: {text}");
        }
    }
}
