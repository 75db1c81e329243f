//! Text queries, in both wire forms, for Lance's native full-text index.

use lance_index::scalar::FullTextSearchQuery;
use lance_index::scalar::inverted::parser;
use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::names::short;

/// Reads a `full_text_query`: `{string_query: {query, columns}}` or `{structured_query: {query}}` of
/// the namespace interface, or the SDKs' `{query, columns}`, where `query` is words or a structure.
pub fn parse(value: &Value, limit: u64) -> Result<FullTextSearchQuery> {
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
    let query = match inner.get("query") {
        Some(Value::String(words)) => {
            let columns = columns(inner.get("columns"))?;
            let query = match words
                .strip_prefix('"')
                .and_then(|rest| rest.strip_suffix('"'))
            {
                Some(phrase) if !phrase.is_empty() => phrase_query(phrase),
                _ => FullTextSearchQuery::new(words.clone()),
            };
            if columns.is_empty() {
                query
            } else {
                query.with_columns(&columns)?
            }
        }
        Some(structure @ Value::Object(_)) => {
            let mut structure = structure.clone();
            modernize(&mut structure)?;
            FullTextSearchQuery::new_query(parser::from_json(&structure.to_string())?)
        }
        _ => {
            return Err(Error::invalid(
                "`full_text_query` needs a `query`: words, or a structure of match, phrase, boost, \
                 multi_match, combined_fields or boolean",
            ));
        }
    };
    let limit = i64::try_from(limit).ok().filter(|limit| *limit < i64::MAX);
    Ok(query.limit(limit))
}

/// Brings what older SDKs send into the form that Lance reads, wherever it stands in a structure, and
/// refuses what Lance would take for something else.
fn modernize(query: &mut Value) -> Result<()> {
    let Value::Object(query) = query else {
        return Ok(());
    };
    for (kind, body) in query.iter_mut() {
        let Value::Object(fields) = body else {
            continue;
        };
        if let Some(operator) = fields.get("operator").and_then(Value::as_str)
            && !["and", "or"].contains(&operator.to_ascii_lowercase().as_str())
        {
            return Err(Error::invalid(format!(
                "`{}` is no operator of a text query; use And or Or",
                short(operator)
            )));
        }
        match kind.as_str() {
            "multi_match" if !fields.contains_key("match_queries") => {
                let queries = match_queries(fields)?;
                fields.insert("match_queries".into(), queries);
            }
            "boost" => {
                for part in ["positive", "negative"] {
                    fields.get_mut(part).map_or(Ok(()), modernize)?;
                }
            }
            "boolean" => {
                for part in ["must", "should", "must_not"] {
                    if let Some(Value::Array(queries)) = fields.get_mut(part) {
                        queries.iter_mut().try_for_each(modernize)?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// One match for each column of `{query, columns, boost}`.
fn match_queries(fields: &Map<String, Value>) -> Result<Value> {
    let Some(Value::String(terms)) = fields.get("query") else {
        return Err(Error::invalid(
            "a multi_match query needs `match_queries`, or `query` and `columns`",
        ));
    };
    let columns = columns(fields.get("columns"))?;
    let boosts = match fields.get("boost") {
        None | Some(Value::Null) => vec![json!(1.0); columns.len()],
        Some(Value::Array(boosts)) if boosts.len() == columns.len() => boosts.clone(),
        Some(_) => {
            return Err(Error::invalid(
                "`boost` of a multi_match query must be an array with a number for each column",
            ));
        }
    };
    let queries = columns.iter().zip(boosts).map(|(column, boost)| {
        json!({ "column": column, "terms": terms, "boost": boost, "fuzziness": 0 })
    });
    Ok(Value::Array(queries.collect()))
}

fn phrase_query(phrase: &str) -> FullTextSearchQuery {
    use lance_index::scalar::inverted::query::PhraseQuery;
    FullTextSearchQuery::new_query(PhraseQuery::new(phrase.to_string()).into())
}

fn columns(value: Option<&Value>) -> Result<Vec<String>> {
    let wrong = || Error::invalid("`columns` of a text query must be an array of column names");
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(names)) => names
            .iter()
            .map(|name| name.as_str().map(str::to_string).ok_or_else(wrong))
            .collect(),
        Some(_) => Err(wrong()),
    }
}
