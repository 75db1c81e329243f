//! Decodes a text query from any of its wire formats.
//!
//! `{string_query: {query, columns}}` and `{structured_query: {query}}` of the namespace interface, and `{query,
//! columns}` of the LanceDB SDKs, where `query` is words or a [`structure`].

use serde::Deserialize;
use serde_json::Value;

use super::limits::Budget;
use super::structure::{Structures, disjunction_max};
use super::wire_format::{FullTextQuery, Words};
use super::{Fuzziness, Limits, Match, Phrase, Query};
use crate::error::{Error, Result};
use crate::object::Object;

/// Decodes the value of `full_text_query`.
pub fn decode(value: &Value, limits: Limits) -> Result<Query> {
    let Object(form): Object<FullTextQuery> = read(value, "")?;
    let budget = &mut Budget::new(limits);
    match (form.string_query, form.structured_query, form.query) {
        (Some(Object(words)), None, None) if form.columns.is_none() => string_query(words, budget),
        (None, Some(Object(inner)), None) if form.columns.is_none() => {
            // As namespace clients that decode their own requests interpret it.
            let null_fuzziness = Fuzziness::Exact;
            let query = read(&inner.query, ".structured_query.query")?;
            Structures {
                budget,
                null_fuzziness,
            }
            .read(query, 1)
        }
        (None, None, Some(Value::String(query))) => {
            let columns = form.columns;
            string_query(Words { query, columns }, budget)
        }
        (None, None, Some(query)) if form.columns.is_none() => {
            // The SDKs send null if the caller sets no limit, and Lance interprets null this way.
            let null_fuzziness = Fuzziness::Auto;
            let query = read(&query, ".query")?;
            Structures {
                budget,
                null_fuzziness,
            }
            .read(query, 1)
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

/// Words, or a phrase in double quotes, over some columns. A row takes the score of its best column.
fn string_query(Words { query, columns }: Words, budget: &mut Budget) -> Result<Query> {
    budget.clause(1)?;
    budget.text(&query)?;
    let quoted = query
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
            ..Match::new(query.as_str())
        }),
    };
    let mut queries = Vec::new();
    for column in columns.unwrap_or_default() {
        budget.clause(2)?;
        queries.push(one(Some(column)));
    }
    Ok(match queries.is_empty() {
        true => one(None),
        false => disjunction_max(queries),
    })
}

#[cfg(test)]
mod tests {
    // Literals read better than references to them.
    #![allow(clippy::needless_pass_by_value)]

    use serde_json::json;

    use super::*;
    use crate::query::Operator;

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
    fn a_match_is_exact_unless_it_says_otherwise() {
        let fuzziness = |value: Value| match read(value) {
            Query::Match(query) => query.fuzziness,
            query => panic!("{query:?}"),
        };
        let stated = |value: Value| json!({"match": {"terms": "a", "fuzziness": value}});
        let silent = json!({"match": {"terms": "a"}});
        let namespace = |query: Value| fuzziness(json!({"structured_query": {"query": query}}));
        let lancedb = |query: Value| fuzziness(json!({"query": query}));
        assert_eq!(namespace(silent.clone()), Fuzziness::Exact);
        assert_eq!(namespace(stated(Value::Null)), Fuzziness::Exact);
        assert_eq!(lancedb(silent), Fuzziness::Exact);
        assert_eq!(lancedb(stated(Value::Null)), Fuzziness::Auto);
        let forms: [&dyn Fn(Value) -> Fuzziness; 2] = [&namespace, &lancedb];
        for form in forms {
            assert_eq!(form(stated(json!(0))), Fuzziness::Exact);
            assert_eq!(form(stated(json!(3))), Fuzziness::Edits(3));
            assert_eq!(form(stated(json!("auto"))), Fuzziness::Auto);
        }
    }

    #[test]
    fn null_fuzziness_reaches_every_match_within() {
        let open = json!({"column": "x", "terms": "a", "fuzziness": null});
        let query = json!({"boolean": {
            "must": [{"multi_match": {"match_queries": [open, open]}}],
            "should": [{"boost": {"positive": {"match": open}, "negative": {"match": open}}}],
        }});
        for (form, word) in [
            (json!({"query": query}), "Auto"),
            (json!({"structured_query": {"query": query}}), "Exact"),
        ] {
            let read = format!("{:?}", read(form));
            let count = read.matches(&format!("fuzziness: {word}")).count();
            assert_eq!(count, 4, "{read}");
        }
    }

    #[test]
    fn several_columns_compete() {
        let expected = Query::DisjunctionMax(vec![word("x", "a"), word("y", "a")]);
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
            (json!({}), "takes one of"),
            (json!({"query": 1}), "`full_text_query.query`"),
            (json!({"query": {}}), "single key"),
            (json!({"query": {"regex": {}}}), "`regex`"),
            (json!({"query": {"match": []}}), "expected an object"),
            (json!({"query": {"match": {}}}), "`terms`"),
            (
                json!({"query": {"match": {"terms": "a", "boost": -1}}}),
                "query.match.boost",
            ),
            (
                json!({"query": {"match": {"terms": "a", "boost": 1e300}}}),
                "query.match.boost",
            ),
            (
                json!({"query": {"match": {"terms": "a", "fuzziness": -1}}}),
                "0 to 5 edits",
            ),
            (
                json!({"query": {"match": {"terms": "a", "fuzziness": 6}}}),
                "0 to 5 edits",
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
                "query.phrase.slop",
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
                "`match_queries`",
            ),
            (
                json!({"query": "a", "columns": "x"}),
                "`full_text_query.columns`",
            ),
            (
                json!({"string_query": {"query": "a"}, "structured_query": {"query": {}}}),
                "takes one of",
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

    fn refusal_of(json: &str) -> Option<String> {
        let value = serde_json::from_str(json).unwrap();
        decode(&value, Limits::default())
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
            assert_eq!(refusal_of(json), None, "{json}");
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
                r#"{"query":{"match":{"terms":"a","fuzziness":9}}}"#,
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
            let text = refusal_of(json).unwrap_or_default();
            assert!(text.contains(member), "{json}: {text}");
        }
    }
}
