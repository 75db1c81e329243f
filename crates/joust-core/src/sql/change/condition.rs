//! Expressions of statements as texts for the operations.
//!
//! The text is written from the tokens of the statement, never from its parsed form: sqlparser does not print every
//! text so that it reads the same. The operation parses and checks the text as a client's.

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Word};

use super::super::parameters::Parameters;
use crate::error::{Error, Result};
use crate::names::short;
use crate::schema::expression;

/// A table in front of a column: `t.id`.
pub(super) struct Qualifier<'a> {
    pub name: &'a str,
    /// The name that the operation has for it; `None`: columns have no qualifier.
    pub becomes: Option<&'static str>,
}

/// The text of an expression, with the parameters as literals.
pub(super) fn text(
    tokens: &[Token],
    parameters: &mut Parameters,
    qualifiers: &[Qualifier<'_>],
) -> Result<String> {
    let significant = |token: &&Token| !matches!(token, Token::Whitespace(_));
    let mut written: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut rest = tokens.iter().filter(significant).peekable();
    // A struct column may have the name of the table: a path has at most one qualifier.
    let mut is_after_qualifier = false;
    while let Some(token) = rest.next() {
        let follows_qualifier = std::mem::take(&mut is_after_qualifier);
        match token {
            Token::Placeholder(name) => written.extend(parameters.tokens(name)?),
            Token::Word(word) => {
                let begins_path = rest.peek() == Some(&&Token::Period)
                    && written.last() != Some(&Token::Period)
                    && !follows_qualifier;
                let qualifier = qualifiers
                    .iter()
                    .find(|qualifier| begins_path && qualifier.name == word.value);
                match qualifier.map(|qualifier| qualifier.becomes) {
                    Some(None) => {
                        rest.next();
                        is_after_qualifier = true;
                    }
                    Some(Some(name)) => written.push(quoted(name)?),
                    None if word.quote_style.is_some() => written.push(quoted(&word.value)?),
                    None => written.push(token.clone()),
                }
            }
            other => written.push(plain(other)?),
        }
    }
    Ok(expression::write_tokens(&written))
}

/// A token that is written so that it reads the same. Literals in other quotes are not: `E'\''` would end early.
fn plain(token: &Token) -> Result<Token> {
    match token {
        Token::SingleQuotedString(_) | Token::Number(..) => Ok(token.clone()),
        Token::EscapedStringLiteral(text) | Token::NationalStringLiteral(text) => {
            Ok(Token::SingleQuotedString(text.clone()))
        }
        Token::HexStringLiteral(digits)
            if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) =>
        {
            Ok(token.clone())
        }
        other => {
            let text = other.to_string();
            match text.contains(['\'', '"', '`', '$']) {
                true => Err(Error::invalid(format!(
                    "the expression has `{}`; write a text as 'text', and bytes as X'00FF'",
                    short(&text)
                ))),
                false => Ok(token.clone()),
            }
        }
    }
}

/// A name in the quotes of Lance's dialect.
fn quoted(name: &str) -> Result<Token> {
    if name.contains('`') {
        return Err(Error::invalid("the name of a column has no backtick"));
    }
    Ok(Token::Word(Word {
        value: name.to_string(),
        quote_style: Some('`'),
        keyword: Keyword::NoKeyword,
    }))
}
