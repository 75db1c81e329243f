//! GRANT and REVOKE.

use super::grammar::Grammar;
use super::{Change, Changing, Granted};
use crate::error::{Error, Result};
use crate::names::short;

/// The privileges. `ALL` stands for all of them.
const PRIVILEGES: &[&str] = &[
    "SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "MANAGE", "GRANT",
];

/// `GRANT privilege, … ON object TO 'subject' [WHERE condition]`
pub(super) fn grant(grammar: &mut Grammar) -> Result<Changing> {
    let privileges = privileges(grammar)?;
    let object = object(grammar)?;
    grammar.expect("TO")?;
    let subject = subject(grammar)?;
    let filter = match grammar.word("WHERE") {
        true => Some(grammar.expression(&[])?),
        false => None,
    };
    Ok(Change::Grant {
        privileges,
        object,
        subject,
        filter,
    }
    .into())
}

/// `REVOKE privilege, … ON object FROM 'subject'`
pub(super) fn revoke(grammar: &mut Grammar) -> Result<Changing> {
    let privileges = privileges(grammar)?;
    let object = object(grammar)?;
    grammar.expect("FROM")?;
    Ok(Change::Revoke {
        privileges,
        object,
        subject: subject(grammar)?,
    }
    .into())
}

/// The names of the privileges in lower case, each once.
fn privileges(grammar: &mut Grammar) -> Result<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    if grammar.word("ALL") {
        // Postgres allows the word.
        grammar.word("PRIVILEGES");
        names.extend(PRIVILEGES.iter().map(|name| name.to_lowercase()));
    } else {
        for name in grammar.separated(privilege)? {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    grammar.expect("ON")?;
    Ok(names)
}

fn privilege(grammar: &mut Grammar) -> Result<String> {
    let found = PRIVILEGES.iter().find(|name| grammar.word(name));
    match found {
        Some(name) => Ok(name.to_lowercase()),
        None => Err(grammar.unexpected(
            "ALL or a privilege (SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, MANAGE, GRANT)",
        )),
    }
}

/// `SERVER`, `SCHEMA name` or `[TABLE] name`
fn object(grammar: &mut Grammar) -> Result<Granted> {
    if grammar.word("SERVER") {
        return Ok(Granted::Server);
    }
    if grammar.word("SCHEMA") {
        return Ok(Granted::Schema {
            name: grammar.name()?,
        });
    }
    grammar.word("TABLE");
    Ok(Granted::Table {
        name: grammar.name()?,
    })
}

/// A subject in quotes, or a parameter.
fn subject(grammar: &mut Grammar) -> Result<String> {
    match grammar.value()? {
        serde_json::Value::String(subject) => Ok(subject),
        other => Err(Error::invalid(format!(
            "a subject is a text such as 'key:ID', 'user:ISSUER#SUBJECT' or 'group:NAME', not {}",
            short(&other.to_string())
        ))),
    }
}
