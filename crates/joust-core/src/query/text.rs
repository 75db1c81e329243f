//! Text queries, in both wire forms, for Lance's native full-text index.

use lance_index::scalar::FullTextSearchQuery;
use lance_index::scalar::inverted::parser;
use serde_json::Value;

use crate::error::{Error, Result};

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
            FullTextSearchQuery::new_query(parser::from_json(&structure.to_string())?)
        }
        _ => {
            return Err(Error::invalid(
                "`full_text_query` needs a `query`: words, or a structure of match, phrase, boost, \
                 multi_match or boolean",
            ));
        }
    };
    let limit = i64::try_from(limit).ok().filter(|limit| *limit < i64::MAX);
    Ok(query.limit(limit))
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
