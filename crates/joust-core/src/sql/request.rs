//! The body of a request: a statement, values for its placeholders, and a limit of rows.

use std::collections::HashMap;

use joust_text::object::Object;
use serde::Deserialize;
use serde_json::Value;

use super::statement::{Statement, TableName};
use crate::error::Result;
use crate::query::{Identity, decode};

#[derive(Deserialize)]
pub struct Request {
    query: String,
    #[serde(default)]
    parameters: Option<Vec<Value>>,
    /// The most rows to return.
    #[serde(default)]
    pub limit: Option<u64>,
    // Allowed in every body: the server reads it; only its form is checked here.
    #[serde(default, rename = "id")]
    _id: Option<Vec<String>>,
    #[serde(default, rename = "identity")]
    _identity: Option<Object<Identity>>,
    #[serde(default, rename = "context")]
    _context: Option<HashMap<String, String>>,
}

impl Request {
    pub fn decode(body: &[u8]) -> Result<Self> {
        decode(body)
    }

    pub fn statement(&self) -> Result<Statement> {
        Statement::new(&self.query, self.parameters.as_deref().unwrap_or_default())
    }
}

/// The tables that a request reads, without duplicates, in a deterministic order.
pub fn tables(body: &[u8]) -> Result<Vec<TableName>> {
    Request::decode(body)?.statement()?.tables()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_an_object_with_a_query() {
        let read = |body: &str| tables(body.as_bytes()).map(|tables| tables.len());
        assert_eq!(read(r#"{"query":"SELECT * FROM t"}"#).unwrap(), 1);
        assert_eq!(
            read(r#"{"query":"SELECT $1","parameters":[1],"limit":3,"context":{},"more":1}"#)
                .unwrap(),
            0
        );
        assert_eq!(
            read(r#"{"query":"SELECT 1","parameters":null,"limit":null}"#).unwrap(),
            0
        );
        for (body, wanted) in [
            ("{}", "query"),
            ("[]", "expected an object"),
            (r#"{"query":1}"#, "query"),
            (r#"{"query":"SELECT 1","parameters":{}}"#, "parameters"),
            (r#"{"query":"SELECT 1","limit":-1}"#, "limit"),
            (r#"{"query":"SELECT 1","limit":1.5}"#, "limit"),
            (r#"{"query":"SELECT 1"} {}"#, "more than one"),
        ] {
            let error = read(body).unwrap_err();
            assert!(error.message().contains(wanted), "{body}: {error}");
        }
        assert!(
            tables(b"{\"query\":\"SELECT '\xff'\"}")
                .unwrap_err()
                .message()
                .contains("UTF-8")
        );
    }
}
