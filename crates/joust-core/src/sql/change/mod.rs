//! Statements that change data or names, and the statements of materialized views.
//!
//! The engine reads a statement and describes it as a [`Change`]; the server runs the operation of the interface that
//! does it. The grammar accepts exactly what an operation can do, so no clause is ignored. Conditions become texts that
//! the operation checks as it checks those of its other clients. The rows of INSERT, MERGE and CREATE TABLE are the
//! result of a query, whose columns get the types of the table ([`Shape`]).

mod alter;
mod columns;
mod condition;
#[cfg(test)]
mod definition_tests;
mod grammar;
mod grants;
mod indexes;
mod merge;
mod open;
#[cfg(test)]
mod open_tests;
mod rows;
mod tables;
#[cfg(test)]
mod tests;
mod views;

use serde::Serialize;
use serde_json::{Map, Value};

pub use alter::Alteration;
pub use columns::{Conversion, Shape};
use grammar::Grammar;
pub use open::Open;

use super::parameters::Given;
use super::statement::{self, Statement};
use crate::error::{Error, Result};

/// What a statement changes, in the terms of the operations. Names of tables, views and schemas are in parts, as
/// written.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(
    tag = "kind",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum Change {
    /// The query has the rows.
    Insert {
        table: Vec<String>,
    },
    Delete {
        table: Vec<String>,
        predicate: String,
    },
    Update {
        table: Vec<String>,
        /// Paths of fields and their expressions.
        updates: Vec<(String, String)>,
        #[serde(skip_serializing_if = "Option::is_none")]
        predicate: Option<String>,
    },
    /// The query has the rows.
    Merge {
        table: Vec<String>,
        /// The key columns, which have the same names on both sides.
        on: Vec<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        update: Option<Action>,
        insert: bool,
        /// Deletes rows of the table without a match.
        #[serde(skip_serializing_if = "Option::is_none")]
        delete: Option<Action>,
    },
    /// The query has the rows, or only columns.
    CreateTable {
        table: Vec<String>,
        if_not_exists: bool,
        replace: bool,
    },
    DropTable {
        table: Vec<String>,
        if_exists: bool,
    },
    CreateSchema {
        schema: Vec<String>,
        if_not_exists: bool,
    },
    DropSchema {
        schema: Vec<String>,
        if_exists: bool,
        cascade: bool,
    },
    /// The query has the columns.
    AddColumns {
        table: Vec<String>,
    },
    DropColumns {
        table: Vec<String>,
        columns: Vec<String>,
    },
    RenameColumn {
        table: Vec<String>,
        column: String,
        name: String,
    },
    AlterColumns {
        table: Vec<String>,
        alterations: Vec<Alteration>,
    },
    RenameTable {
        table: Vec<String>,
        name: Vec<String>,
    },
    CreateIndex {
        table: Vec<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Path of the field.
        column: String,
        index_type: String,
        if_not_exists: bool,
        options: Map<String, Value>,
    },
    DropIndex {
        table: Vec<String>,
        name: String,
        if_exists: bool,
    },
    Grant {
        privileges: Vec<String>,
        object: Granted,
        /// `key:ID`, `user:ISSUER#SUBJECT` or `group:NAME`.
        subject: String,
        /// The privileges are for the rows for which it is true.
        #[serde(skip_serializing_if = "Option::is_none")]
        filter: Option<String>,
    },
    Revoke {
        privileges: Vec<String>,
        object: Granted,
        subject: String,
    },
    CreateView {
        view: Vec<String>,
        replace: bool,
        if_not_exists: bool,
        /// The text of the SELECT, as written.
        query: String,
        options: Map<String, Value>,
    },
    RefreshView {
        view: Vec<String>,
        options: Map<String, Value>,
    },
    DropView {
        view: Vec<String>,
        if_exists: bool,
    },
    DescribeView {
        view: Vec<String>,
    },
    ShowViews {
        #[serde(skip_serializing_if = "Option::is_none")]
        schema: Option<Vec<String>>,
        /// Only the names behind this one.
        #[serde(skip_serializing_if = "Option::is_none")]
        after: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
    },
}

/// The object of a grant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Granted {
    Server,
    Schema { name: Vec<String> },
    Table { name: Vec<String> },
}

/// A clause of MERGE with its condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Action {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
}

/// A checked statement.
pub struct Changing {
    pub change: Change,
    /// The query of the rows that it writes, and the form that they get.
    pub rows: Option<(Statement, Shape)>,
    /// The number of its parameters.
    pub parameters: usize,
    /// What determines the types of its parameters, if their values are not known.
    pub open: Option<Open>,
}

impl Changing {
    fn with_rows(change: Change, query: Statement, shape: Shape) -> Self {
        Self {
            rows: Some((query, shape)),
            ..change.into()
        }
    }
}

impl From<Change> for Changing {
    fn from(change: Change) -> Self {
        Self {
            change,
            rows: None,
            parameters: 0,
            open: None,
        }
    }
}

/// The words that such statements begin with.
const VERBS: &[&str] = &[
    "insert", "delete", "update", "merge", "create", "drop", "alter", "refresh", "describe",
    "desc", "show", "grant", "revoke",
];

/// Reads a statement. `None`: it is of another kind.
pub fn read(sql: &str, given: Given<'_>) -> Result<Option<Changing>> {
    let word = first_word(sql);
    if !VERBS.iter().any(|verb| word.eq_ignore_ascii_case(verb)) {
        return Ok(None);
    }
    statement::check_length(sql)?;
    if let Some(view) = views::create(sql, given)? {
        return Ok(Some(view));
    }
    let mut grammar = Grammar::new(sql, given)?;
    let mut changing = if grammar.words(&["INSERT", "INTO"]) {
        rows::insert(&mut grammar)?
    } else if grammar.words(&["DELETE", "FROM"]) {
        rows::delete(&mut grammar)?
    } else if grammar.word("UPDATE") {
        rows::update(&mut grammar)?
    } else if grammar.words(&["MERGE", "INTO"]) {
        merge::merge(&mut grammar)?
    } else if grammar.words(&["CREATE", "OR", "REPLACE", "TABLE"]) {
        tables::create(&mut grammar, true)?
    } else if grammar.words(&["CREATE", "TABLE"]) {
        tables::create(&mut grammar, false)?
    } else if grammar.words(&["CREATE", "SCHEMA"]) {
        tables::create_schema(&mut grammar)?
    } else if grammar.words(&["CREATE", "INDEX"]) {
        indexes::create(&mut grammar)?
    } else if grammar.words(&["DROP", "TABLE"]) {
        tables::drop_table(&mut grammar)?
    } else if grammar.words(&["DROP", "SCHEMA"]) {
        tables::drop_schema(&mut grammar)?
    } else if grammar.words(&["DROP", "INDEX"]) {
        indexes::drop_index(&mut grammar)?
    } else if grammar.words(&["ALTER", "TABLE"]) {
        alter::alter(&mut grammar)?
    } else if grammar.word("GRANT") {
        grants::grant(&mut grammar)?
    } else if grammar.word("REVOKE") {
        grants::revoke(&mut grammar)?
    } else if let Some(view) = views::read(&mut grammar)? {
        view
    } else {
        return Ok(None);
    };
    changing.parameters = grammar.parameter_count();
    changing.open = grammar.open.take();
    grammar.end()?;
    Ok(Some(changing))
}

/// The first word of a statement, behind spaces and comments.
fn first_word(sql: &str) -> &str {
    let mut rest = sql.trim_start();
    loop {
        let behind = if let Some(comment) = rest.strip_prefix("--") {
            comment.split_once('\n').map_or("", |(_, rest)| rest)
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/").map_or("", |(_, rest)| rest)
        } else {
            break;
        };
        rest = behind.trim_start();
    }
    let end = rest
        .find(|letter: char| !letter.is_ascii_alphabetic())
        .unwrap_or(rest.len());
    &rest[..end]
}

/// An option in `WITH (…)` that the statement does not have.
fn unknown_option(name: &str, known: &str) -> Error {
    Error::invalid(format!(
        "WITH has the option `{}`; there is {known}",
        crate::names::short(name)
    ))
}
