//! CREATE and DROP of tables and schemas.

use std::collections::HashSet;

use datafusion::sql::sqlparser::ast::{
    ArrayElemTypeDef, DataType, Ident, ObjectNamePart, Statement as Ast,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::Token;

use super::columns::Declared;
use super::grammar::{Grammar, unreadable};
use super::{Change, Changing, Shape};
use crate::error::{Code, Error, Result};
use crate::names::{check_column, short};
use crate::schema::expression::check_type;
use crate::sql::search::Searches;
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

pub(super) struct Column {
    pub name: String,
    data_type: DataType,
    pub declared: Declared,
}

/// `name type [NOT NULL | NULL]`
pub(super) fn column(grammar: &mut Grammar) -> Result<Column> {
    let name = grammar.ident()?;
    check_column(&name)?;
    let (data_type, is_json) = data_type(grammar)?;
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

/// The type of a column, for a cast, and whether the column has JSON.
pub(super) fn data_type(grammar: &mut Grammar) -> Result<(DataType, bool)> {
    let (data_type, is_json) = plain(grammar.data_type()?)?;
    check_type(&data_type)?;
    Ok((data_type, is_json))
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
pub(super) fn declared(columns: Vec<Column>) -> Result<(Statement, Shape)> {
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
    let types = columns.iter();
    let statement = casts(types.map(|column| (column.name.as_str(), &column.data_type)))?;
    let columns = columns.into_iter().map(|column| column.declared);
    Ok((statement, Shape::Declared(columns.collect())))
}

/// A query without rows, whose columns have these names and types.
pub(super) fn casts<'a>(
    columns: impl Iterator<Item = (&'a str, &'a DataType)>,
) -> Result<Statement> {
    let casts: Vec<String> = columns
        .map(|(name, data_type)| {
            let name = Ident::with_quote('`', name);
            format!("CAST(NULL AS {data_type}) AS {name}")
        })
        .collect();
    let mut parser = Parser::new(&GenericDialect)
        .try_with_sql(&format!("SELECT {} LIMIT 0", casts.join(", ")))
        .map_err(unreadable)?;
    let query = parser.parse_query().map_err(unreadable)?;
    Statement::of_query(Ast::Query(query), Searches::default())
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
