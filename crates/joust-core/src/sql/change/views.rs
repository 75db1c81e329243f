//! The statements of materialized views.

use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};
use serde_json::Value;

use super::grammar::Grammar;
use super::{Change, Changing, unknown_option};
use crate::error::{Error, Result};
use crate::sql::parameters::Given;
use crate::sql::statement::Statement;

/// `CREATE [OR REPLACE] MATERIALIZED VIEW [IF NOT EXISTS] n [WITH (option = value, …)] AS SELECT …`. `None`: another
/// statement.
pub(super) fn create(sql: &str, given: Given<'_>) -> Result<Option<Changing>> {
    let Some((head, query)) = split(sql) else {
        return Ok(None);
    };
    let mut grammar = Grammar::new(head, given)?;
    grammar.expect("CREATE")?;
    let replace = grammar.words(&["OR", "REPLACE"]);
    grammar.expect("MATERIALIZED")?;
    grammar.expect("VIEW")?;
    let if_not_exists = grammar.if_not_exists();
    if replace && if_not_exists {
        return Err(Error::invalid(
            "OR REPLACE and IF NOT EXISTS exclude each other; leave one of them out",
        ));
    }
    let view = grammar.name()?;
    let options = grammar.options()?;
    for name in options.keys() {
        if !["auto_refresh_enabled", "auto_refresh_interval_seconds"].contains(&name.as_str()) {
            return Err(unknown_option(
                name,
                "auto_refresh_enabled and auto_refresh_interval_seconds",
            ));
        }
    }
    grammar.expect("AS")?;
    grammar.end()?;
    Statement::of_view(query)?;
    Ok(Some(
        Change::CreateView {
            view,
            replace,
            if_not_exists,
            query: query.to_string(),
            options,
        }
        .into(),
    ))
}

/// Separates the SELECT from `CREATE … MATERIALIZED VIEW … AS`: a view has it as written.
fn split(sql: &str) -> Option<(&str, &str)> {
    let tokens = Tokenizer::new(&GenericDialect, sql)
        .tokenize_with_location()
        .ok()?;
    let tokens: Vec<&TokenWithSpan> = tokens
        .iter()
        .filter(|token| !matches!(token.token, Token::Whitespace(_)))
        .collect();
    let is_word = |at: usize, wanted: &str| match tokens.get(at).map(|token| &token.token) {
        Some(Token::Word(word)) => {
            word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted)
        }
        _ => false,
    };
    let kind = match is_word(1, "OR") {
        true => 3,
        false => 1,
    };
    if !is_word(0, "CREATE") || !is_word(kind, "MATERIALIZED") {
        return None;
    }
    let mut depth = 0_usize;
    let as_at = (0..tokens.len()).find(|at| {
        match tokens[*at].token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && is_word(*at, "AS")
    })?;
    let end = match tokens.last() {
        Some(last) if last.token == Token::SemiColon => offset(sql, last.span.start),
        _ => sql.len(),
    };
    let begin = tokens
        .get(as_at + 1)
        .map_or(sql.len(), |token| offset(sql, token.span.start))
        .min(end);
    Some((&sql[..begin], sql[begin..end].trim_end()))
}

/// The place of a token in bytes.
fn offset(sql: &str, wanted: Location) -> usize {
    let (mut line, mut column) = (1, 1);
    for (at, letter) in sql.char_indices() {
        if (line, column) == (wanted.line, wanted.column) {
            return at;
        }
        match letter {
            '\n' => (line, column) = (line + 1, 1),
            _ => column += 1,
        }
    }
    sql.len()
}

/// The other statements of views. `None`: another statement.
pub(super) fn read(grammar: &mut Grammar) -> Result<Option<Changing>> {
    let change = if grammar.words(&["REFRESH", "MATERIALIZED", "VIEW"]) {
        let view = grammar.name()?;
        let options = grammar.options()?;
        if let Some(name) = options.keys().find(|name| *name != "full") {
            return Err(unknown_option(name, "full"));
        }
        Change::RefreshView { view, options }
    } else if grammar.words(&["DROP", "MATERIALIZED", "VIEW"]) {
        let if_exists = grammar.if_exists();
        Change::DropView {
            view: grammar.name()?,
            if_exists,
        }
    } else if grammar.words(&["DESCRIBE", "MATERIALIZED", "VIEW"])
        || grammar.words(&["DESC", "MATERIALIZED", "VIEW"])
    {
        Change::DescribeView {
            view: grammar.name()?,
        }
    } else if grammar.words(&["SHOW", "MATERIALIZED", "VIEWS"]) {
        show(grammar)?
    } else {
        return Ok(None);
    };
    Ok(Some(change.into()))
}

/// `[IN schema] [WHERE name > 'last'] [LIMIT n]`
fn show(grammar: &mut Grammar) -> Result<Change> {
    let schema = match grammar.word("IN") || grammar.word("FROM") {
        true => Some(grammar.name()?),
        false => None,
    };
    let after = match grammar.word("WHERE") {
        true => {
            grammar.expect("name")?;
            grammar.expect_symbol(&Token::Gt)?;
            match grammar.value()? {
                Value::String(name) => Some(name),
                _ => {
                    return Err(Error::invalid(
                        "compare `name` with a string literal, for example name > 'films'",
                    ));
                }
            }
        }
        false => None,
    };
    let limit = match grammar.word("LIMIT") {
        true => Some(
            grammar
                .value()?
                .as_u64()
                .ok_or_else(|| Error::invalid("LIMIT takes a number that is at least 0"))?,
        ),
        false => None,
    };
    Ok(Change::ShowViews {
        schema,
        after,
        limit,
    })
}
