//! CREATE, DROP and ALTER of tables and schemas.

use std::collections::HashSet;

use datafusion::sql::sqlparser::ast::{ArrayElemTypeDef, DataType, Ident, ObjectNamePart};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::Token;

use super::columns::Declared;
use super::grammar::{Grammar, unreadable};
use super::{Change, Changing, Shape};
use crate::error::{Code, Error, Result};
use crate::names::{check_column, short};
use crate::schema::expression::check_type;
use crate::sql::statement::Statement;

/// Columns of a new table: their casts are one query.
const MAX_COLUMNS: usize = 2_000;

/// `CREATE [OR REPLACE] TABLE [IF NOT EXISTS] t AS query`, or `(column type [NOT NULL], …)`
pub(super) fn create(grammar: &mut Grammar, replace: bool) -> Result<Changing> {
    let if_not_exists = grammar.if_not_exists();
    if replace && if_not_exists {
        return Err(Error::invalid(
            "OR REPLACE and IF NOT EXISTS exclude each other; leave one of them out",
        ));
    }
    let table = grammar.name()?;
    let rows = if grammar.parser.peek_token().token == Token::LParen {
        declared(grammar.in_parentheses(column)?)?
    } else if grammar.word("AS") {
        (grammar.query()?, Shape::Query)
    } else {
        return Err(grammar.unexpected("AS SELECT, or the columns in parentheses,"));
    };
    let created = Change::CreateTable {
        table,
        if_not_exists,
        replace,
    };
    let (query, shape) = rows;
    Ok(Changing::with_rows(created, query, shape))
}

struct Column {
    name: String,
    data_type: DataType,
    declared: Declared,
}

/// `name type [NOT NULL | NULL]`
fn column(grammar: &mut Grammar) -> Result<Column> {
    let name = grammar.ident()?;
    check_column(&name)?;
    let (data_type, is_json) = plain(grammar.data_type()?)?;
    check_type(&data_type)?;
    let nullable = match grammar.words(&["NOT", "NULL"]) {
        true => false,
        false => {
            grammar.word("NULL");
            true
        }
    };
    Ok(Column {
        name,
        data_type,
        declared: Declared { nullable, is_json },
    })
}

/// The type for a cast, and whether the column has JSON. `VECTOR(n)` is `FLOAT[n]`, as in pgvector.
fn plain(data_type: DataType) -> Result<(DataType, bool)> {
    Ok(match data_type {
        DataType::JSON | DataType::JSONB => (DataType::Text, true),
        DataType::Custom(name, length) if is_vector(&name.0) => {
            let length = match length.as_slice() {
                [length] => length.parse().ok().filter(|length| *length > 0),
                _ => None,
            };
            let length = length.ok_or_else(|| {
                Error::invalid("VECTOR takes the number of its values: VECTOR(128)")
            })?;
            let float = Box::new(DataType::Real);
            let vector = ArrayElemTypeDef::SquareBracket(float, Some(length));
            (DataType::Array(vector), false)
        }
        other => (other, false),
    })
}

fn is_vector(name: &[ObjectNamePart]) -> bool {
    let [name] = name else { return false };
    name.as_ident()
        .is_some_and(|name| name.value.eq_ignore_ascii_case("vector"))
}

/// A query of these columns without rows.
fn declared(columns: Vec<Column>) -> Result<(Statement, Shape)> {
    if columns.len() > MAX_COLUMNS {
        return Err(Error::invalid(format!(
            "a statement creates at most {MAX_COLUMNS} columns; add the others with ALTER TABLE"
        )));
    }
    let mut seen = HashSet::new();
    if let Some(twice) = columns.iter().find(|column| !seen.insert(&column.name)) {
        return Err(Error::new(
            Code::TableSchemaValidationError,
            format!(
                "the statement has two columns `{}`; give each a name of its own",
                short(&twice.name)
            ),
        ));
    }
    let casts: Vec<String> = columns
        .iter()
        .map(|column| {
            let name = Ident::with_quote('`', &column.name);
            format!("CAST(NULL AS {}) AS {name}", column.data_type)
        })
        .collect();
    let mut parser = Parser::new(&GenericDialect)
        .try_with_sql(&format!("SELECT {} LIMIT 0", casts.join(", ")))
        .map_err(unreadable)?;
    let statement = Statement::of_query(parser.parse_query().map_err(unreadable)?)?;
    let columns = columns.into_iter().map(|column| column.declared);
    Ok((statement, Shape::Declared(columns.collect())))
}

/// `DROP TABLE [IF EXISTS] t`
pub(super) fn drop_table(grammar: &mut Grammar) -> Result<Changing> {
    let if_exists = grammar.if_exists();
    let table = grammar.name()?;
    Ok(Change::DropTable { table, if_exists }.into())
}

/// `CREATE SCHEMA [IF NOT EXISTS] n`
pub(super) fn create_schema(grammar: &mut Grammar) -> Result<Changing> {
    let if_not_exists = grammar.if_not_exists();
    let schema = grammar.name()?;
    Ok(Change::CreateSchema {
        schema,
        if_not_exists,
    }
    .into())
}

/// `DROP SCHEMA [IF EXISTS] n [CASCADE | RESTRICT]`
pub(super) fn drop_schema(grammar: &mut Grammar) -> Result<Changing> {
    let if_exists = grammar.if_exists();
    let schema = grammar.name()?;
    let cascade = grammar.word("CASCADE");
    if !cascade {
        grammar.word("RESTRICT");
    }
    Ok(Change::DropSchema {
        schema,
        if_exists,
        cascade,
    }
    .into())
}

/// `ALTER TABLE t` with one of `ADD [COLUMN] c type, …`, `DROP [COLUMN] c, …`, `RENAME [COLUMN] c TO d`, `RENAME TO u`
pub(super) fn alter(grammar: &mut Grammar) -> Result<Changing> {
    let table = grammar.name()?;
    if grammar.word("ADD") {
        let columns = alterations(grammar, "ADD", column)?;
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
        let columns = alterations(grammar, "DROP", |grammar| Ok(grammar.name()?.join(".")))?;
        return Ok(Change::DropColumns { table, columns }.into());
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
    Err(grammar.unexpected("ADD COLUMN, DROP COLUMN, RENAME COLUMN or RENAME TO"))
}

/// `COLUMN item, [ADD COLUMN] item, …`: the word COLUMN is optional.
fn alterations<T>(
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
