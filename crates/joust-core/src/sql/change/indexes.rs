//! CREATE INDEX and DROP INDEX.

use super::grammar::Grammar;
use super::{Change, Changing};
use crate::error::{Error, Result};

/// `CREATE INDEX [IF NOT EXISTS] [name] ON t [USING type] (column) [WITH (option = value, …)]`
pub(super) fn create(grammar: &mut Grammar) -> Result<Changing> {
    let if_not_exists = grammar.if_not_exists();
    let name = match grammar.word("ON") {
        true => None,
        false => {
            let name = grammar.ident()?;
            grammar.expect("ON")?;
            Some(name)
        }
    };
    let table = grammar.name()?;
    let using = match grammar.word("USING") {
        true => Some(grammar.ident()?.to_uppercase()),
        false => None,
    };
    let columns = grammar.in_parentheses(|grammar| Ok(grammar.name()?.join(".")))?;
    let Ok([column]) = <[String; 1]>::try_from(columns) else {
        return Err(Error::invalid("an index has one column"));
    };
    Ok(Change::CreateIndex {
        table,
        name,
        column,
        index_type: using.unwrap_or_else(|| "BTREE".to_string()),
        if_not_exists,
        options: grammar.options()?,
    }
    .into())
}

/// `DROP INDEX [IF EXISTS] name ON t`
pub(super) fn drop_index(grammar: &mut Grammar) -> Result<Changing> {
    let if_exists = grammar.if_exists();
    let name = grammar.ident()?;
    grammar.expect("ON")?;
    let table = grammar.name()?;
    Ok(Change::DropIndex {
        table,
        name,
        if_exists,
    }
    .into())
}
