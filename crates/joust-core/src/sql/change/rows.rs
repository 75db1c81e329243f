//! INSERT, DELETE and UPDATE.

use std::collections::HashSet;

use datafusion::sql::sqlparser::tokenizer::Token;

use super::condition::Qualifier;
use super::grammar::Grammar;
use super::{Change, Changing, Shape};
use crate::error::{Error, Result};
use crate::names::short;

/// `INSERT INTO t [(column, …)] query`
pub(super) fn insert(grammar: &mut Grammar) -> Result<Changing> {
    let table = grammar.name()?;
    let columns = match names_columns(grammar) {
        true => grammar.in_parentheses(Grammar::ident)?,
        false => Vec::new(),
    };
    let mut seen = HashSet::new();
    if let Some(twice) = columns.iter().find(|name| !seen.insert(name.as_str())) {
        return Err(Error::invalid(format!(
            "INSERT names the column `{}` twice",
            short(twice)
        )));
    }
    let query = grammar.parsed_query()?;
    if let Some(open) = &mut grammar.open {
        open.add_values(&query, &columns)?;
    }
    let statement = grammar.statement(query)?;
    let shape = Shape::ByPosition(columns);
    Ok(Changing::with_rows(
        Change::Insert { table },
        statement,
        shape,
    ))
}

/// Whether a parenthesis begins a list of columns, and not a query.
fn names_columns(grammar: &Grammar) -> bool {
    let next = |at| grammar.parser.peek_nth_token(at).token;
    let begins_query = |token: &Token| match token {
        Token::LParen => true,
        Token::Word(word) => {
            word.quote_style.is_none()
                && ["select", "values", "with", "table"]
                    .iter()
                    .any(|query| word.value.eq_ignore_ascii_case(query))
        }
        _ => false,
    };
    next(0) == Token::LParen && !begins_query(&next(1))
}

/// `DELETE FROM t [AS a] [WHERE condition]`
pub(super) fn delete(grammar: &mut Grammar) -> Result<Changing> {
    let table = grammar.name()?;
    let alias = grammar.alias(&["WHERE", "USING", "RETURNING", "LIMIT", "ORDER"])?;
    let qualifiers = one(&table, alias.as_deref());
    grammar.name_target(qualifiers[0].name);
    let predicate = match grammar.word("WHERE") {
        true => grammar.expression(&qualifiers)?,
        false => "true".to_string(),
    };
    Ok(Change::Delete { table, predicate }.into())
}

/// `UPDATE t [AS a] SET column = value, … [WHERE condition]`
pub(super) fn update(grammar: &mut Grammar) -> Result<Changing> {
    let table = grammar.name()?;
    let alias = grammar.alias(&["SET"])?;
    grammar.expect("SET")?;
    let qualifiers = one(&table, alias.as_deref());
    grammar.name_target(qualifiers[0].name);
    let updates = grammar.separated(|grammar| {
        let mut path = grammar.name()?;
        if path.len() > 1 && path[0] == qualifiers[0].name {
            path.remove(0);
        }
        grammar.expect_symbol(&Token::Eq)?;
        let value = grammar.assigned(&path, &qualifiers)?;
        Ok((path.join("."), value))
    })?;
    let predicate = match grammar.word("WHERE") {
        true => Some(grammar.expression(&qualifiers)?),
        false => None,
    };
    Ok(Change::Update {
        table,
        updates,
        predicate,
    }
    .into())
}

/// The one table whose columns an expression reads.
fn one<'a>(table: &'a [String], alias: Option<&'a str>) -> [Qualifier<'a>; 1] {
    [Qualifier {
        name: alias.unwrap_or_else(|| table.last().map_or("", String::as_str)),
        becomes: None,
    }]
}
