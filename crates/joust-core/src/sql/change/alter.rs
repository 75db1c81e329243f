//! ALTER TABLE.

use std::collections::HashSet;

use arrow::datatypes::DataType;
use datafusion::sql::sqlparser::ast;
use futures::FutureExt;
use serde::Serialize;
use serde_json::Value;

use super::grammar::Grammar;
use super::tables::{casts, column, data_type, declared};
use super::{Change, Changing};
use crate::error::{Code, Error, Result};
use crate::names::short;
use crate::sql::session;
use crate::table::data_type::to_json;

/// The change of a column, with the members that an alteration of the operation has.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Alteration {
    /// Path of the field.
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_type: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nullable: Option<bool>,
}

/// `ALTER TABLE t` with one of `ADD [COLUMN] c type, …`, `DROP [COLUMN] c, …`, `ALTER [COLUMN] c …, …`,
/// `RENAME [COLUMN] c TO d`, `RENAME TO u`
pub(super) fn alter(grammar: &mut Grammar) -> Result<Changing> {
    let table = grammar.name()?;
    if grammar.word("ADD") {
        let columns = actions(grammar, "ADD", column)?;
        if let Some(column) = columns.iter().find(|column| !column.declared.nullable) {
            return Err(Error::invalid(format!(
                "the new column `{}` is null in the existing rows; leave NOT NULL out",
                column.name
            )));
        }
        let (query, shape) = declared(columns)?;
        return Ok(Changing::with_rows(
            Change::AddColumns { table },
            query,
            shape,
        ));
    }
    if grammar.word("DROP") {
        let columns = actions(grammar, "DROP", |grammar| Ok(grammar.name()?.join(".")))?;
        return Ok(Change::DropColumns { table, columns }.into());
    }
    if grammar.word("ALTER") {
        let alterations = actions(grammar, "ALTER", alteration)?;
        check(&alterations)?;
        return Ok(Change::AlterColumns { table, alterations }.into());
    }
    if grammar.words(&["RENAME", "TO"]) {
        let name = grammar.name()?;
        return Ok(Change::RenameTable { table, name }.into());
    }
    if grammar.word("RENAME") {
        grammar.word("COLUMN");
        let column = grammar.name()?.join(".");
        grammar.expect("TO")?;
        let name = grammar.ident()?;
        return Ok(Change::RenameColumn {
            table,
            column,
            name,
        }
        .into());
    }
    Err(grammar.unexpected("ADD COLUMN, DROP COLUMN, ALTER COLUMN, RENAME COLUMN or RENAME TO"))
}

/// `COLUMN item, [ADD COLUMN] item, …`: the word COLUMN is optional.
fn actions<T>(
    grammar: &mut Grammar,
    verb: &str,
    item: impl Fn(&mut Grammar) -> Result<T>,
) -> Result<Vec<T>> {
    grammar.separated(|grammar| {
        grammar.word(verb);
        grammar.word("COLUMN");
        item(grammar)
    })
}

/// `c [SET DATA] TYPE type`, `c SET NOT NULL`, `c DROP NOT NULL`
fn alteration(grammar: &mut Grammar) -> Result<Alteration> {
    let mut alteration = Alteration {
        path: grammar.name()?.join("."),
        data_type: None,
        nullable: None,
    };
    if grammar.word("TYPE") || grammar.words(&["SET", "DATA", "TYPE"]) {
        let (data_type, is_json) = data_type(grammar)?;
        if is_json {
            return Err(Error::new(
                Code::Unsupported,
                "a column cannot become JSON; add a JSON column, and copy the values with UPDATE",
            ));
        }
        if grammar.word("USING") {
            return Err(Error::new(
                Code::Unsupported,
                "TYPE takes no USING: it casts the values; for other values add a column, and set it with UPDATE",
            ));
        }
        alteration.data_type = Some(to_json(&stored(&data_type)?)?);
    } else if grammar.words(&["SET", "NOT", "NULL"]) {
        alteration.nullable = Some(false);
    } else if grammar.words(&["DROP", "NOT", "NULL"]) {
        alteration.nullable = Some(true);
    } else {
        return Err(grammar.unexpected("TYPE, SET DATA TYPE, SET NOT NULL or DROP NOT NULL"));
    }
    Ok(alteration)
}

/// Rejects what the operation cannot do in one change.
fn check(alterations: &[Alteration]) -> Result<()> {
    let mut paths = HashSet::new();
    if let Some(twice) = alterations.iter().find(|one| !paths.insert(&one.path)) {
        return Err(Error::invalid(format!(
            "the statement alters the column `{}` twice; send two statements",
            short(&twice.path)
        )));
    }
    let changes_type = |one: &Alteration| one.data_type.is_some();
    match alterations.iter().any(changes_type) && !alterations.iter().all(changes_type) {
        true => Err(Error::new(
            Code::Unsupported,
            "a statement changes types or NOT NULL, not both; send two statements",
        )),
        false => Ok(()),
    }
}

/// The type that a new column of this type would have.
fn stored(data_type: &ast::DataType) -> Result<DataType> {
    let query = casts(std::iter::once(("c", data_type)))?;
    let context = session::for_planning()?;
    // A query without tables is planned without waiting.
    let frame = query.plan(&context, Vec::new()).now_or_never();
    let frame = frame.ok_or_else(|| Error::new(Code::Internal, "a type has no plan"))??;
    Ok(frame.schema().field(0).data_type().clone())
}
