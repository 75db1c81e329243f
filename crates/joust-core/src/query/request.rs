//! The query body, in both wire formats.
//!
//! The namespace interface and the LanceDB SDKs use the same field names and differ in the form of three: `vector` (an
//! object or a bare array), `columns` (an object, an array or a map) and `full_text_query`. The forms are distinct, so
//! one decoder reads both. Unknown fields are ignored, as the interface requires.

use std::collections::HashMap;

use joust_text::object::Object;
use joust_text::query::{Limits, Query as TextQuery};
use lance::Dataset;
use lance::dataset::ROW_ID;
use serde::Deserialize;

use super::columns::Columns;
use super::hybrid::HybridRequest;
use super::text_search::Highlight;
use super::vectors::Vectors;
use crate::error::{Error, Result};
use crate::schema::predicate::computed_expressions;
use crate::schema::{Evaluation, RowFilter};

/// A decoded query.
#[derive(Debug, Default, Deserialize)]
pub struct Query {
    #[serde(default)]
    id: Option<Vec<String>>,
    // Allowed in every body: the server reads it; only its form is checked here.
    #[serde(default, rename = "identity")]
    _identity: Option<Object<Identity>>,
    #[serde(default, rename = "context")]
    _context: Option<HashMap<String, String>>,
    /// Rows to return; a search with several vectors returns this many for each.
    pub k: u64,
    #[serde(default)]
    pub offset: Option<u64>,
    #[serde(default)]
    pub vector: Vectors,
    #[serde(default)]
    pub vector_column: Option<String>,
    #[serde(default)]
    pub distance_type: Option<String>,
    /// Lower bound of the distance, inclusive.
    #[serde(default)]
    pub lower_bound: Option<f32>,
    /// Upper bound of the distance, exclusive.
    #[serde(default)]
    pub upper_bound: Option<f32>,
    #[serde(default)]
    pub nprobes: Option<u32>,
    #[serde(default)]
    pub minimum_nprobes: Option<u32>,
    /// 0: no maximum.
    #[serde(default)]
    pub maximum_nprobes: Option<u32>,
    #[serde(default)]
    pub search_effort: Option<f64>,
    #[serde(default)]
    pub approx_mode: Option<String>,
    #[serde(default)]
    pub ef: Option<u32>,
    #[serde(default)]
    pub refine_factor: Option<u32>,
    #[serde(default)]
    pub bypass_vector_index: Option<bool>,
    #[serde(default)]
    pub fast_search: Option<bool>,
    #[serde(default)]
    pub filter: Option<String>,
    #[serde(default)]
    pub prefilter: Option<bool>,
    #[serde(default)]
    pub columns: Columns,
    #[serde(default)]
    pub with_row_id: Option<bool>,
    #[serde(default)]
    pub order_by: Option<Vec<Object<Ordering>>>,
    #[serde(default)]
    full_text_query: Option<serde_json::Value>,
    /// The decoded `full_text_query`.
    #[serde(skip)]
    pub text: Option<TextQuery>,
    /// Options of highlighted passages.
    #[serde(default)]
    pub highlight: Option<Object<Highlight>>,
    /// Options of a hybrid search.
    #[serde(default)]
    pub hybrid: Option<Object<HybridRequest>>,
    #[serde(default)]
    pub version: Option<u64>,
    #[serde(default)]
    pub branch: Option<String>,
}

/// One key of a sort order.
#[derive(Debug, Deserialize)]
pub struct Ordering {
    pub column_name: String,
    #[serde(default = "yes")]
    pub ascending: bool,
    #[serde(default)]
    pub nulls_first: bool,
}

fn yes() -> bool {
    true
}

/// The body of an explain request.
#[derive(Debug, Deserialize)]
pub struct Explain {
    #[serde(default)]
    id: Option<Vec<String>>,
    #[serde(default)]
    branch: Option<String>,
    #[serde(default, rename = "identity")]
    _identity: Option<Object<Identity>>,
    #[serde(default, rename = "context")]
    _context: Option<HashMap<String, String>>,
    pub query: Object<Query>,
    #[serde(default)]
    pub verbose: Option<bool>,
}

/// The identity of the client.
#[derive(Debug, Deserialize)]
pub(crate) struct Identity {
    #[serde(default, rename = "api_key")]
    _api_key: Option<String>,
    #[serde(default, rename = "auth_token")]
    _auth_token: Option<String>,
}

impl Query {
    pub fn decode(body: &[u8]) -> Result<Self> {
        decode::<Self>(body)?.checked()
    }

    fn checked(mut self) -> Result<Self> {
        if let Some(effort) = self.search_effort
            && !(0.0..=1.0).contains(&effort)
        {
            return Err(Error::invalid(format!(
                "`search_effort` is {effort}; it must be between 0 and 1"
            )));
        }
        if let Some(text) = self.full_text_query.take() {
            self.text = Some(joust_text::query::decode(&text, Limits::default())?);
        }
        Ok(self)
    }

    /// The filter, unless it is blank.
    pub fn condition(&self) -> Option<&str> {
        self.filter.as_deref().filter(|own| !own.trim().is_empty())
    }

    /// Restricts the query to some rows, before any search: the others count for no limit and have no distance.
    pub fn restrict(&mut self, rows: &RowFilter) -> Result<()> {
        if self.condition().is_some() && self.prefilter == Some(false) {
            return Err(Error::invalid(
                "`prefilter` is false, which a caller with a row filter cannot use: leave it out",
            ));
        }
        self.filter = Some(rows.and(self.condition())?);
        self.prefilter = Some(true);
        Ok(())
    }

    /// Rejects a body for another object.
    pub fn check_addressed_to(&self, id: &[String]) -> Result<()> {
        check_id(self.id.as_deref(), id)
    }

    /// Whether Lance needs row ids that the client did not request: to sort by a column that is not returned, it
    /// fetches the other columns by row id.
    pub fn needs_row_id(&self) -> bool {
        self.with_row_id != Some(true)
            && self
                .order_by
                .as_ref()
                .is_some_and(|order| !order.is_empty())
            && !matches!(self.columns, Columns::All)
    }

    /// Whether the result has row ids that the client did not request.
    pub fn hides_row_id(&self) -> bool {
        self.needs_row_id() && !self.columns.have(ROW_ID)
    }

    /// The size of the results of its expressions over the rows of a scan; `None` for plain comparisons.
    pub fn evaluation(&self, dataset: &Dataset) -> Result<Option<Evaluation>> {
        let mut expressions = self.columns.computed(dataset)?;
        expressions.extend(computed_expressions(self.filter.as_deref().unwrap_or(""))?);
        Ok(Evaluation::of_scan(dataset, &expressions))
    }

    /// The rows to search before the offset is skipped.
    pub fn reach(&self) -> u64 {
        self.k.saturating_add(self.offset.unwrap_or(0))
    }
}

impl Explain {
    pub fn decode(body: &[u8], id: &[String]) -> Result<Self> {
        let mut explain: Self = decode(body)?;
        check_id(explain.id.as_deref(), id)?;
        let mut query = explain.query.0.checked()?;
        // The branch is beside the query or in it.
        if query.branch.is_none() {
            query.branch = explain.branch.take();
        }
        explain.query = Object(query);
        Ok(explain)
    }
}

fn check_id(body: Option<&[String]>, path: &[String]) -> Result<()> {
    match body {
        Some(body) if !body.is_empty() && body != path => Err(Error::invalid(format!(
            "the body's `id` {body:?} is not the object in the path {path:?}; leave it out or make \
             them equal"
        ))),
        _ => Ok(()),
    }
}

/// Checks the whole body for UTF-8 first: in bytes, serde_json would skip the strings of unknown members without
/// validation.
pub(crate) fn decode<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T> {
    let body = std::str::from_utf8(body).map_err(|_| Error::invalid("the body is not UTF-8"))?;
    let decoded = serde_json::from_str::<Object<T>>(body);
    decoded.map(|Object(value)| value).map_err(|_| {
        // Decodes again, more slowly, to identify the invalid field.
        let mut deserializer = serde_json::Deserializer::from_str(body);
        let message = match serde_path_to_error::deserialize::<_, Object<T>>(&mut deserializer) {
            Ok(_) => "it has more than one JSON value".to_string(),
            Err(error) if error.inner().is_data() => {
                let path = error.path().to_string();
                match path.as_str() {
                    "." => error.inner().to_string(),
                    _ => format!("`{path}`: {}", error.inner()),
                }
            }
            Err(error) => format!("it is not JSON: {}", error.inner()),
        };
        Error::invalid(format!("the query can't be read: {message}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(body: &str) -> Query {
        Query::decode(body.as_bytes()).unwrap()
    }

    fn refusal(body: &str) -> String {
        Query::decode(body.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn both_forms_of_a_vector_are_read() {
        let one = Vectors::One(vec![1.0, 2.5]);
        assert_eq!(
            query(r#"{"k":1,"vector":{"single_vector":[1,2.5]}}"#).vector,
            one
        );
        assert_eq!(query(r#"{"k":1,"vector":[1,2.5]}"#).vector, one);
        let many = Vectors::Many(vec![vec![1.0], vec![2.0]]);
        assert_eq!(
            query(r#"{"k":1,"vector":{"multi_vector":[[1],[2]]}}"#).vector,
            many
        );
        assert_eq!(query(r#"{"k":1,"vector":[[1],[2]]}"#).vector, many);
    }

    #[test]
    fn no_vector_has_many_spellings() {
        for body in [
            r#"{"k":1}"#,
            r#"{"k":1,"vector":null}"#,
            r#"{"k":1,"vector":[]}"#,
            r#"{"k":1,"vector":{}}"#,
            r#"{"k":1,"vector":{"single_vector":[],"multi_vector":null}}"#,
            r#"{"k":1,"vector":{"single_vector":[],"multi_vector":[]}}"#,
        ] {
            assert_eq!(query(body).vector, Vectors::None, "{body}");
        }
    }

    #[test]
    fn k_is_read_exactly() {
        assert_eq!(query(r#"{"k":9223372036854775807}"#).k, i64::MAX as u64);
    }

    #[test]
    fn null_is_absent() {
        let query = query(r#"{"k":1,"ef":null,"filter":null,"columns":null,"version":null}"#);
        assert_eq!(query.ef, None);
        assert_eq!(query.version, None);
    }

    #[test]
    fn an_empty_form_beside_the_other_is_absent() {
        let body = r#"{"k":1,"vector":{"single_vector":[1],"multi_vector":[]},
            "columns":{"column_names":["a"],"column_aliases":{}}}"#;
        let both = query(body);
        assert!(matches!(both.vector, Vectors::One(vector) if vector == [1.0]));
        assert!(matches!(both.columns, Columns::Names(names) if names == ["a"]));
        let body = r#"{"k":1,"vector":{"single_vector":[],"multi_vector":[]},
            "columns":{"column_names":[],"column_aliases":{"b":"a"}}}"#;
        let neither = query(body);
        assert!(matches!(neither.vector, Vectors::None));
        assert!(matches!(neither.columns, Columns::Aliases(aliases) if aliases.len() == 1));
    }

    #[test]
    fn a_refusal_names_the_field() {
        assert!(refusal(r#"{"k":"ten"}"#).contains("`k`"));
        assert!(refusal(r#"{"vector":[1]}"#).contains("missing field `k`"));
        assert!(refusal(r#"{"k":-1}"#).contains("`k`"));
        assert!(refusal(r#"{"k":1,"vector":[1,"a"]}"#).contains("vector"));
        assert!(refusal(r#"{"k":1,"vector":[1e300]}"#).contains("32-bit"));
        assert!(refusal(r#"{"k":1"#).contains("not JSON"));
        assert!(
            refusal(r#"{"k":1,"vector":{"single_vector":[1],"multi_vector":[[1]]}}"#)
                .contains("not both")
        );
    }

    #[test]
    fn an_array_is_no_object() {
        for body in [
            "[null,null,null,1]",
            r#"{"k":1,"order_by":[["id"]]}"#,
            r#"{"k":1,"identity":["key"]}"#,
        ] {
            assert!(refusal(body).contains("expected an object"), "{body}");
        }
    }

    #[test]
    fn what_every_body_may_have_is_checked() {
        assert!(refusal(r#"{"k":1,"identity":{"api_key":1}}"#).contains("identity.api_key"));
        assert!(refusal(r#"{"k":1,"context":{"a":1}}"#).contains("context.a"));
        let null = query(r#"{"k":1,"identity":null,"context":null}"#);
        assert!(null._identity.is_none() && null._context.is_none());
        assert!(refusal(r#"{"k":1,"search_effort":2}"#).contains("search_effort"));
    }

    #[test]
    fn a_body_for_another_object_is_refused() {
        let path = ["ns".to_string(), "t".to_string()];
        assert!(
            query(r#"{"k":1,"id":["ns","t"]}"#)
                .check_addressed_to(&path)
                .is_ok()
        );
        assert!(
            query(r#"{"k":1,"id":["t"]}"#)
                .check_addressed_to(&path)
                .is_err()
        );
    }
}
