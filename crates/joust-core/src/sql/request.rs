//! The body of a request: a statement, values for its placeholders, and a limit of rows.

use std::collections::HashMap;

use arrow::array::RecordBatch;
use joust_text::object::Object;
use serde::Deserialize;
use serde_json::Value;

use super::bound_rows;
use super::change::{self, Change, Changing, Open, Shape};
use super::parameters::{Given, ValueType};
use super::statement::{Statement, TableName};
use crate::error::{Error, Result};
use crate::query::{Identity, decode};

#[derive(Deserialize)]
pub struct Request {
    query: String,
    #[serde(default)]
    parameters: Option<Vec<Value>>,
    /// Names of the first parameters: `$name` is the parameter of that name.
    #[serde(default)]
    names: Option<Vec<String>>,
    /// Types of the first parameters, of those that have none in JSON.
    #[serde(default)]
    types: Option<Vec<Option<ValueType>>>,
    /// The key of several rows of parameters (`bound_rows`), in place of `parameters`.
    #[serde(default)]
    rows: Option<String>,
    /// The values of the parameters are not known: the statement is only described.
    #[serde(default)]
    open: bool,
    /// The most rows to return. A statement that changes something has its own number of rows.
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
    /// Checks that the statement can be run.
    pub fn check_bound(&self) -> Result<()> {
        check_bound(self.open)
    }

    pub fn decode(body: &[u8]) -> Result<Self> {
        decode(body)
    }

    pub fn statement(&self) -> Result<Statement> {
        Statement::new(&self.query, self.given())
    }

    /// What the statement changes.
    pub fn changing(&self) -> Result<Changing> {
        let changing = change::read(&self.query, self.given())?;
        changing.ok_or_else(|| Error::invalid("the statement changes nothing"))
    }

    /// The rows that the statement writes.
    pub fn written(&self) -> Result<Written> {
        self.check_bound()?;
        let Changing { rows, open, .. } = self.changing()?;
        let (statement, shape) =
            rows.ok_or_else(|| Error::invalid("the statement writes no rows"))?;
        let bound = match &self.rows {
            None => None,
            Some(key) => {
                let (statement, name) = open.and_then(Open::into_rows).ok_or_else(several_rows)?;
                Some((statement, name, bound_rows::find(key)?))
            }
        };
        Ok(Written {
            statement,
            shape,
            bound,
        })
    }

    fn given(&self) -> Given<'_> {
        let names = self.names.as_deref().unwrap_or_default();
        match (self.open, &self.rows) {
            (true, _) => Given::Open,
            (false, Some(_)) => Given::Rows(names),
            (false, None) => Given::Typed(
                self.parameters.as_deref().unwrap_or_default(),
                names,
                self.types.as_deref().unwrap_or_default(),
            ),
        }
    }
}

/// The rows that a statement writes.
pub struct Written {
    /// The query that gives them.
    pub statement: Statement,
    pub shape: Shape,
    /// The query in place of `statement`, over a table of this name: the rows of parameters.
    pub bound: Option<(Statement, TableName, RecordBatch)>,
}

fn check_bound(open: bool) -> Result<()> {
    match open {
        true => Err(Error::invalid(
            "the parameters of the statement have no values; a statement is run with values",
        )),
        false => Ok(()),
    }
}

fn several_rows() -> Error {
    Error::invalid("only INSERT INTO t VALUES (...) takes several rows of parameters at once")
}

/// What the server has to know of a statement.
pub struct ReadStatement {
    /// The tables that it reads, without duplicates, in a deterministic order.
    pub tables: Vec<TableName>,
    /// What it changes, as JSON (`change::Change`). Absent for a query.
    pub change: Option<String>,
    /// The number of its parameters if it changes something.
    pub parameters: usize,
    /// The values of its parameters are not known, and NULL in `change`: it can only be described.
    open: bool,
}

impl ReadStatement {
    /// Checks that the statement can be run: its parameters have values.
    ///
    /// # Errors
    /// Code 13.
    pub fn check_bound(&self) -> Result<()> {
        check_bound(self.open)
    }
}

/// Reads the statement of a request, which may be only described.
pub fn read_statement(body: &[u8]) -> Result<ReadStatement> {
    let request = Request::decode(body)?;
    let Some(mut changing) = change::read(&request.query, request.given())? else {
        if request.rows.is_some() {
            return Err(several_rows());
        }
        return Ok(ReadStatement {
            tables: request.statement()?.tables()?,
            change: None,
            parameters: 0,
            open: request.open,
        });
    };
    if request.rows.is_some() && !changing.open.as_ref().is_some_and(Open::takes_rows) {
        return Err(several_rows());
    }
    if let (Change::ShowViews { limit, .. }, Some(most)) = (&mut changing.change, request.limit) {
        *limit = Some(limit.map_or(most, |limit| limit.min(most)));
    }
    let change = serde_json::to_string(&changing.change)
        .map_err(|error| Error::internal("a statement could not be described", error))?;
    let tables = match &changing.rows {
        Some((statement, _)) => statement.tables()?,
        None => Vec::new(),
    };
    Ok(ReadStatement {
        tables,
        change: Some(change),
        parameters: changing.parameters,
        open: request.open,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_without_the_values_of_its_parameters_cannot_be_run() {
        for query in [
            "SELECT $1",
            "UPDATE t SET name = $1",
            "DELETE FROM t WHERE id = $1",
        ] {
            let check = |open: bool| {
                let body = serde_json::json!({"query": query, "parameters": ["x"], "open": open});
                read_statement(body.to_string().as_bytes()).and_then(|read| read.check_bound())
            };
            assert!(check(false).is_ok(), "{query}");
            let error = check(true).unwrap_err();
            assert!(error.message().contains("no values"), "{query}: {error}");
        }
    }

    #[test]
    fn a_body_is_an_object_with_a_query() {
        let read = |body: &str| read_statement(body.as_bytes()).map(|read| read.tables.len());
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
            read_statement(b"{\"query\":\"SELECT '\xff'\"}")
                .err()
                .is_some_and(|error| error.message().contains("UTF-8"))
        );
    }
}
