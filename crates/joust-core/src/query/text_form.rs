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
    CombinedFields(Object<CombinedFields>),
    Boolean(Object<Boolean>),
}

#[derive(Deserialize)]
struct Match {
    #[serde(default)]
    column: Option<String>,
    terms: String,
    #[serde(default)]
    boost: Option<f64>,
    #[serde(default)]
    fuzziness: Option<u32>,
    #[serde(default)]
    max_expansions: Option<u32>,
    #[serde(default)]
    operator: Option<Operator>,
    #[serde(default)]
    prefix_length: Option<u32>,
}

#[derive(Deserialize)]
struct Phrase {
    #[serde(default)]
    column: Option<String>,
    terms: String,
    #[serde(default)]
    slop: Option<u32>,
}

#[derive(Deserialize)]
struct Boost {
    positive: Box<Structure>,
    negative: Box<Structure>,
    #[serde(default)]
    negative_boost: Option<f64>,
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
    boost: Option<Vec<f64>>,
}

impl TryFrom<Object<MultiMatchMembers>> for MultiMatch {
    type Error = &'static str;

    fn try_from(Object(members): Object<MultiMatchMembers>) -> Result<Self, Self::Error> {
        match (members.match_queries, members.query, members.columns) {
            (Some(queries), _, _) if !queries.is_empty() => Ok(Self),
            (None, Some(_), Some(columns)) if !columns.is_empty() => Ok(Self),
            _ => Err("give at least one of `match_queries`"),
        }
    }
}

#[derive(Deserialize)]
struct CombinedFields {
    query: String,
    columns: Vec<String>,
    #[serde(default)]
    boost: Option<Vec<f64>>,
    #[serde(default)]
    operator: Option<Operator>,
}

#[derive(Deserialize)]
struct Boolean {
    #[serde(default)]
    must: Option<Vec<Structure>>,
    #[serde(default)]
    should: Option<Vec<Structure>>,
    #[serde(default)]
    must_not: Option<Vec<Structure>>,
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
