//! The wire forms of a text query.
//!
//! `{string_query: {query, columns}}` and `{structured_query: {query}}` of the namespace interface,
//! and `{query, columns}` of the LanceDB SDKs, where `query` is words or a structure. A structure is an
//! object with one key: `match`, `phrase`, `boost`, `multi_match`, `combined_fields` or `boolean`.

use serde_json::{Map, Value};

use super::limits::Budget;
use super::{CombinedFields, Fuzziness, Granularity, Limits, Match, Operator, Phrase, Query};
use crate::error::{Error, Result};

type Object = Map<String, Value>;

/// Reads the value of `full_text_query`.
pub fn decode(value: &Value, limits: Limits) -> Result<Query> {
    let fields = value
        .as_object()
        .ok_or_else(|| Error::invalid("`full_text_query` must be an object"))?;
    let inner = match (fields.get("string_query"), fields.get("structured_query")) {
        (Some(Value::Object(_)), Some(Value::Object(_))) => {
            return Err(Error::invalid(
                "`full_text_query` takes `string_query` or `structured_query`, not both",
            ));
        }
        (Some(Value::Object(inner)), _) | (_, Some(Value::Object(inner))) => inner,
        _ => fields,
    };
    let mut budget = Budget::new(limits);
    match inner.get("query") {
        Some(Value::String(words)) => string_query(words, inner.get("columns"), &mut budget),
        Some(structure @ Value::Object(_)) => query(structure, 1, &mut budget),
        _ => Err(Error::invalid(
            "`full_text_query` needs a `query`: words, or a structure of match, phrase, boost, \
             multi_match or boolean",
        )),
    }
}

/// Words, or a phrase in double quotes, over some columns: a row counts with its best one.
fn string_query(words: &str, columns: Option<&Value>, budget: &mut Budget) -> Result<Query> {
    budget.clause(1)?;
    budget.text(words)?;
    let columns = match columns {
        None | Some(Value::Null) => Vec::new(),
        Some(names) => strings(names).ok_or_else(|| {
            Error::invalid("`columns` of a text query must be an array of column names")
        })?,
    };
    let quoted = words
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .filter(|phrase| !phrase.is_empty());
    let one = |column: Option<String>| match quoted {
        Some(phrase) => Query::Phrase(Phrase {
            column,
            terms: phrase.to_string(),
            slop: 0,
            granularity: None,
        }),
        None => Query::Match(Match {
            column,
            ..Match::new(words)
        }),
    };
    let mut queries: Vec<Query> = Vec::with_capacity(columns.len());
    for column in columns {
        budget.clause(2)?;
        queries.push(one(Some(column)));
    }
    Ok(match queries.len() {
        0 => one(None),
        1 => queries.remove(0),
        _ => Query::Best(queries),
    })
}

fn query(value: &Value, depth: usize, budget: &mut Budget) -> Result<Query> {
    budget.clause(depth)?;
    let one = value.as_object().filter(|object| object.len() == 1);
    let Some((kind, body)) = one.and_then(|object| object.iter().next()) else {
        return Err(Error::invalid(
            "a text query is an object with exactly one of match, phrase, boost, multi_match, \
             combined_fields, boolean",
        ));
    };
    let body = body
        .as_object()
        .ok_or_else(|| Error::invalid(format!("`{kind}` of a text query must be an object")))?;
    match kind.as_str() {
        "match" => Ok(Query::Match(match_query(body, budget)?)),
        "phrase" => Ok(Query::Phrase(phrase(body, budget)?)),
        "boost" => Ok(Query::Boost {
            positive: Box::new(part(body, "positive", depth, budget)?),
            negative: Box::new(part(body, "negative", depth, budget)?),
            negative_boost: weight(body, "negative_boost")?.unwrap_or(0.5),
        }),
        "multi_match" => multi_match(body, depth, budget),
        "combined_fields" => combined_fields(body, budget),
        "boolean" => boolean(body, depth, budget),
        _ => Err(Error::invalid(format!(
            "`{}` is no text query; use match, phrase, boost, multi_match, combined_fields or \
             boolean",
            kind.chars().take(50).collect::<String>()
        ))),
    }
}

fn part(body: &Object, name: &str, depth: usize, budget: &mut Budget) -> Result<Query> {
    match body.get(name) {
        Some(value) => query(value, depth + 1, budget),
        None => Err(Error::invalid(format!("a boost query needs `{name}`"))),
    }
}

fn match_query(body: &Object, budget: &mut Budget) -> Result<Match> {
    let max_expansions = number(body, "max_expansions")?.unwrap_or(50);
    Ok(Match {
        column: column(body)?,
        terms: terms(body, "terms", budget)?,
        boost: weight(body, "boost")?.unwrap_or(1.0),
        fuzziness: fuzziness(body)?,
        max_expansions: max_expansions as usize,
        operator: operator(body)?,
        prefix_length: number(body, "prefix_length")?.unwrap_or(0) as usize,
        granularity: granularity(body)?,
    })
}

fn phrase(body: &Object, budget: &mut Budget) -> Result<Phrase> {
    Ok(Phrase {
        column: column(body)?,
        terms: terms(body, "terms", budget)?,
        slop: number(body, "slop")?.unwrap_or(0) as u32,
        granularity: granularity(body)?,
    })
}

/// `match_queries`, or the older `{query, columns, boost}`.
fn multi_match(body: &Object, depth: usize, budget: &mut Budget) -> Result<Query> {
    let mut queries = Vec::new();
    match body.get("match_queries") {
        Some(Value::Array(matches)) => {
            for one in matches {
                budget.clause(depth + 1)?;
                let one = one.as_object().ok_or_else(|| {
                    Error::invalid("`match_queries` must be an array of match queries")
                })?;
                queries.push(Query::Match(match_query(one, budget)?));
            }
        }
        None | Some(Value::Null) => {
            let terms = terms(body, "query", budget)?;
            let columns = body.get("columns").and_then(strings).ok_or_else(|| {
                Error::invalid(
                    "a multi_match query needs `match_queries`, or `query` and `columns`",
                )
            })?;
            let boosts = boosts(body, columns.len())?;
            let operator = operator(body)?;
            for (index, column) in columns.into_iter().enumerate() {
                budget.clause(depth + 1)?;
                queries.push(Query::Match(Match {
                    column: Some(column),
                    boost: boosts.as_ref().map_or(1.0, |boosts| boosts[index]),
                    operator,
                    ..Match::new(terms.clone())
                }));
            }
        }
        Some(_) => {
            return Err(Error::invalid(
                "`match_queries` must be an array of match queries",
            ));
        }
    }
    match queries.len() {
        0 => Err(Error::invalid("a multi_match query needs a match query")),
        1 => Ok(queries.remove(0)),
        _ => Ok(Query::Best(queries)),
    }
}

fn combined_fields(body: &Object, budget: &mut Budget) -> Result<Query> {
    let columns = body
        .get("columns")
        .and_then(strings)
        .filter(|columns| !columns.is_empty())
        .ok_or_else(|| Error::invalid("a combined_fields query needs `columns`"))?;
    for _ in &columns {
        budget.clause(1)?;
    }
    Ok(Query::CombinedFields(CombinedFields {
        terms: terms(body, "query", budget)?,
        boost: boosts(body, columns.len())?,
        operator: operator(body)?,
        columns,
    }))
}

fn boolean(body: &Object, depth: usize, budget: &mut Budget) -> Result<Query> {
    let mut clauses = |name: &str| -> Result<Vec<Query>> {
        match body.get(name) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(values)) => values
                .iter()
                .map(|value| query(value, depth + 1, budget))
                .collect(),
            Some(_) => Err(Error::invalid(format!(
                "`{name}` of a boolean query must be an array of queries"
            ))),
        }
    };
    let must = clauses("must")?;
    let should = clauses("should")?;
    let must_not = clauses("must_not")?;
    if must.is_empty() && should.is_empty() {
        return Err(Error::invalid(
            "a boolean query needs a query in `must` or `should`",
        ));
    }
    Ok(Query::Boolean {
        must,
        should,
        must_not,
    })
}

fn terms(body: &Object, name: &str, budget: &mut Budget) -> Result<String> {
    let terms = body
        .get(name)
        .and_then(Value::as_str)
        .ok_or_else(|| Error::invalid(format!("a text query needs `{name}`: the words")))?;
    budget.text(terms)?;
    Ok(terms.to_string())
}

fn column(body: &Object) -> Result<Option<String>> {
    match body.get("column") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(name)) if !name.is_empty() => Ok(Some(name.clone())),
        Some(_) => Err(Error::invalid(
            "`column` of a text query must be the name of a column",
        )),
    }
}

/// A count.
fn number(body: &Object, name: &str) -> Result<Option<u64>> {
    let most = u64::from(u32::MAX);
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64().filter(|number| *number <= most) {
            Some(number) => Ok(Some(number)),
            None => Err(Error::invalid(format!(
                "`{name}` of a text query must be a whole number from 0 to {most}"
            ))),
        },
    }
}

fn weight(body: &Object, name: &str) -> Result<Option<f32>> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => as_weight(value).map(Some).ok_or_else(|| {
            Error::invalid(format!(
                "`{name}` of a text query must be a number that is not negative"
            ))
        }),
    }
}

fn as_weight(value: &Value) -> Option<f32> {
    let weight = value.as_f64()? as f32;
    (weight.is_finite() && weight >= 0.0).then_some(weight)
}

fn boosts(body: &Object, columns: usize) -> Result<Option<Vec<f32>>> {
    let wrong =
        || Error::invalid("`boost` must have a number that is not negative for each column");
    match body.get("boost") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(values)) if values.len() == columns => values
            .iter()
            .map(|value| as_weight(value).ok_or_else(wrong))
            .collect::<Result<_>>()
            .map(Some),
        Some(_) => Err(wrong()),
    }
}

/// Absent and null mean automatic, as the SDKs and Lance have it.
fn fuzziness(body: &Object) -> Result<Fuzziness> {
    match body.get("fuzziness") {
        None | Some(Value::Null) => Ok(Fuzziness::Auto),
        Some(Value::String(word)) if word.eq_ignore_ascii_case("auto") => Ok(Fuzziness::Auto),
        Some(value) => match value.as_u64() {
            Some(0) => Ok(Fuzziness::Exact),
            Some(edits) => Ok(Fuzziness::Edits(u8::try_from(edits).unwrap_or(u8::MAX))),
            None => Err(Error::invalid(
                "`fuzziness` must be a number of edits, or null for what suits the length of a word",
            )),
        },
    }
}

fn operator(body: &Object) -> Result<Operator> {
    match body.get("operator") {
        None | Some(Value::Null) => Ok(Operator::Or),
        Some(Value::String(word)) if word.eq_ignore_ascii_case("and") => Ok(Operator::And),
        Some(Value::String(word)) if word.eq_ignore_ascii_case("or") => Ok(Operator::Or),
        Some(_) => Err(Error::invalid(
            "`operator` of a text query must be And or Or",
        )),
    }
}

fn granularity(body: &Object) -> Result<Option<Granularity>> {
    match body.get("document_granularity") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(word)) if word == "row" => Ok(Some(Granularity::Row)),
        Some(Value::String(word)) if word == "list_element" => Ok(Some(Granularity::ListElement)),
        Some(_) => Err(Error::invalid(
            "`document_granularity` must be row or list_element",
        )),
    }
}

fn strings(value: &Value) -> Option<Vec<String>> {
    value
        .as_array()?
        .iter()
        .map(|name| name.as_str().map(str::to_string))
        .collect()
}

#[cfg(test)]
mod tests {
    // Literals read better than references to them.
    #![allow(clippy::needless_pass_by_value)]

    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Query {
        decode(&value, Limits::default()).unwrap()
    }

    fn refusal(value: Value) -> String {
        decode(&value, Limits::default()).unwrap_err().to_string()
    }

    fn word(column: &str, terms: &str) -> Query {
        Query::Match(Match {
            column: Some(column.to_string()),
            ..Match::new(terms)
        })
    }

    #[test]
    fn all_forms_of_words_are_the_same() {
        let expected = Query::Match(Match::new("a b"));
        for value in [
            json!({"string_query": {"query": "a b"}}),
            json!({"query": "a b"}),
            json!({"query": "a b", "columns": []}),
            json!({"query": {"match": {"column": null, "terms": "a b", "fuzziness": 0}}}),
            json!({"structured_query": {"query": {"match": {"terms": "a b", "fuzziness": 0}}}}),
        ] {
            assert_eq!(read(value.clone()), expected, "{value}");
        }
    }

    #[test]
    fn several_columns_compete() {
        let expected = Query::Best(vec![word("x", "a"), word("y", "a")]);
        for value in [
            json!({"query": "a", "columns": ["x", "y"]}),
            json!({"query": {"multi_match": {"query": "a", "columns": ["x", "y"]}}}),
            json!({"query": {"multi_match": {"match_queries": [
                {"column": "x", "terms": "a", "fuzziness": 0},
                {"column": "y", "terms": "a", "fuzziness": 0},
            ]}}}),
        ] {
            assert_eq!(read(value.clone()), expected, "{value}");
        }
    }

    #[test]
    fn quotes_make_a_phrase() {
        let phrase = Query::Phrase(Phrase {
            column: Some("x".into()),
            terms: "a b".into(),
            slop: 0,
            granularity: None,
        });
        assert_eq!(read(json!({"query": "\"a b\"", "columns": ["x"]})), phrase);
    }

    #[test]
    fn the_fields_of_a_match_are_read() {
        let query = read(json!({"query": {"match": {
            "terms": "a", "boost": 2, "fuzziness": "auto", "max_expansions": 7, "operator": "AND",
            "prefix_length": 3
        }}}));
        let expected = Match {
            boost: 2.0,
            fuzziness: Fuzziness::Auto,
            max_expansions: 7,
            operator: Operator::And,
            prefix_length: 3,
            ..Match::new("a")
        };
        assert_eq!(query, Query::Match(expected));
    }

    #[test]
    fn a_refusal_says_what_is_wrong() {
        for (value, part) in [
            (json!("a"), "object"),
            (json!({}), "needs a `query`"),
            (json!({"query": 1}), "needs a `query`"),
            (json!({"query": {}}), "exactly one"),
            (json!({"query": {"regex": {}}}), "`regex` is no text query"),
            (json!({"query": {"match": []}}), "must be an object"),
            (json!({"query": {"match": {}}}), "`terms`"),
            (
                json!({"query": {"match": {"terms": "a", "boost": -1}}}),
                "`boost`",
            ),
            (
                json!({"query": {"match": {"terms": "a", "boost": 1e300}}}),
                "`boost`",
            ),
            (
                json!({"query": {"match": {"terms": "a", "fuzziness": -1}}}),
                "number of edits",
            ),
            (
                json!({"query": {"match": {"terms": "a", "operator": "xor"}}}),
                "And or Or",
            ),
            (
                json!({"query": {"match": {"terms": "a", "max_expansions": 1e9}}}),
                "max_expansions",
            ),
            (
                json!({"query": {"phrase": {"terms": "a", "slop": 5_000_000_000u64}}}),
                "`slop`",
            ),
            (
                json!({"query": {"boolean": {"must_not": [{"match": {"terms": "a"}}]}}}),
                "`must`",
            ),
            (
                json!({"query": {"boost": {"positive": {"match": {"terms": "a"}}}}}),
                "`negative`",
            ),
            (
                json!({"query": {"multi_match": {"match_queries": []}}}),
                "needs a match",
            ),
            (
                json!({"query": "a", "columns": "x"}),
                "array of column names",
            ),
            (
                json!({"string_query": {"query": "a"}, "structured_query": {"query": {}}}),
                "not both",
            ),
        ] {
            let message = refusal(value.clone());
            assert!(message.contains(part), "{value}: {message}");
        }
    }

    #[test]
    fn a_hostile_query_is_refused() {
        let leaf = json!({"match": {"terms": "a"}});
        let mut deep = leaf.clone();
        for _ in 0..30 {
            deep = json!({"boolean": {"must": [deep]}});
        }
        assert!(refusal(json!({"query": deep})).contains("deep"));
        let wide = json!({"boolean": {"should": vec![leaf; 300]}});
        assert!(refusal(json!({"query": wide})).contains("clauses"));
        let long = "a ".repeat(20_000);
        assert!(refusal(json!({"query": long})).contains("bytes"));
        let columns = vec!["x"; 300];
        assert!(refusal(json!({"query": "a", "columns": columns})).contains("clauses"));
    }
}
