//! The tokens of an expression: read like Lance's planner, and written again.

use std::any::TypeId;
use std::fmt::Write;

use datafusion::sql::sqlparser::dialect::{Dialect, GenericDialect};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer, Whitespace, Word};

use super::functions::Place;
use super::{MAX_LITERAL, scan};
use crate::error::{Error, Result};
use crate::names::short;

/// Tokens of an expression: a list of 200,000 numbers has twice as many.
const MAX_TOKENS: usize = 1_000_000;

/// The dialect of [`lance_datafusion`]'s planner, which it does not export.
#[derive(Debug)]
pub struct LanceDialect(GenericDialect);

impl LanceDialect {
    pub const fn new() -> Self {
        Self(GenericDialect)
    }
}

impl Dialect for LanceDialect {
    fn dialect(&self) -> TypeId {
        self.0.dialect()
    }

    fn is_identifier_start(&self, letter: char) -> bool {
        self.0.is_identifier_start(letter)
    }

    fn is_identifier_part(&self, letter: char) -> bool {
        self.0.is_identifier_part(letter)
    }

    fn is_delimited_identifier_start(&self, letter: char) -> bool {
        letter == '`'
    }

    fn supports_bitwise_shift_operators(&self) -> bool {
        self.0.supports_bitwise_shift_operators()
    }
}

/// The tokens of an expression in parentheses, without white space. `==` is `=`, as in Lance's planner.
pub fn read(sql: &str) -> Result<Vec<Token>> {
    let dialect = LanceDialect::new();
    let all = tokenize(&dialect, sql)?;
    let mut tokens: Vec<Token> = Vec::with_capacity(all.len());
    let mut after_equals = false;
    for token in all {
        let equals = token == Token::Eq;
        match token {
            Token::Whitespace(_) => {}
            Token::Eq if after_equals => {}
            // Lance has no function of such a name: it is a column.
            Token::Word(word) if is_user(&word) => tokens.push(Token::Word(Word {
                quote_style: Some('`'),
                keyword: Keyword::NoKeyword,
                ..word
            })),
            Token::Number(digits, _) if digits == LEAST && is_negated(&tokens) => {
                // Lance parses the number before the minus, and it does not fit into an integer type.
                let number = |digits: &str| Token::Number(digits.to_string(), false);
                tokens.pop();
                tokens.extend([Token::LParen, Token::Minus, number(LARGEST), Token::Minus]);
                tokens.extend([number("1"), Token::RParen]);
            }
            token => tokens.push(allowed(token)?),
        }
        after_equals = equals && !after_equals;
    }
    scan::check(&tokens, Place::Rows)?;
    tokens.insert(0, Token::LParen);
    tokens.push(Token::RParen);
    Ok(tokens)
}

/// The tokens of a text; comments and placeholders are rejected.
pub fn tokenize(dialect: &dyn Dialect, sql: &str) -> Result<Vec<Token>> {
    let tokens = tokenize_statement(dialect, sql)?;
    for token in &tokens {
        match token {
            Token::Whitespace(
                Whitespace::SingleLineComment { .. } | Whitespace::MultiLineComment(_),
            ) => return Err(Error::invalid("the expression has a comment; leave it out")),
            Token::Placeholder(_) | Token::Question => {
                return Err(Error::invalid(format!(
                    "the expression has a placeholder (`{token}`); write the value itself"
                )));
            }
            _ => {}
        }
    }
    Ok(tokens)
}

/// The tokens of a statement, which may have comments and placeholders.
pub fn tokenize_statement(dialect: &dyn Dialect, sql: &str) -> Result<Vec<Token>> {
    let tokens = Tokenizer::new(dialect, sql).tokenize().map_err(|error| {
        Error::invalid(format!("the expression can't be read: {}", error.message))
    })?;
    if tokens.len() > 2 * MAX_TOKENS {
        return Err(Error::invalid(format!(
            "the expression has more than {MAX_TOKENS} names, values and operators; split it"
        )));
    }
    Ok(tokens)
}

/// The smallest integer without its sign, and the largest.
const LEAST: &str = "9223372036854775808";
const LARGEST: &str = "9223372036854775807";

/// Whether a minus here is a sign, not an operator between two values.
fn is_negated(tokens: &[Token]) -> bool {
    use Keyword::{AND, BETWEEN, OR};
    match tokens {
        [.., before, Token::Minus] => match before {
            Token::LParen | Token::Comma | Token::Eq | Token::Neq => true,
            Token::Lt | Token::Gt | Token::LtEq | Token::GtEq => true,
            Token::Word(word) => [AND, BETWEEN, OR].contains(&word.keyword),
            _ => false,
        },
        [Token::Minus] => true,
        _ => false,
    }
}

fn is_user(word: &Word) -> bool {
    use Keyword::{CURRENT_CATALOG, CURRENT_USER, SESSION_USER, USER};
    let keywords = [CURRENT_CATALOG, CURRENT_USER, SESSION_USER, USER];
    word.quote_style.is_none() && keywords.contains(&word.keyword)
}

/// Rejects literals that are too long or that Lance's planner does not know.
fn allowed(token: Token) -> Result<Token> {
    let length = match &token {
        Token::Word(word) => word.value.len(),
        Token::SingleQuotedString(text)
        | Token::DoubleQuotedString(text)
        | Token::Number(text, _) => text.len(),
        Token::HexStringLiteral(digits) => {
            if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(Error::invalid(
                    "a binary literal has hexadecimal digits only: X'0AFF'",
                ));
            }
            digits.len() / 2
        }
        Token::Comma
        | Token::DoubleEq
        | Token::Eq
        | Token::Neq
        | Token::Lt
        | Token::Gt
        | Token::LtEq
        | Token::GtEq
        | Token::Plus
        | Token::Minus
        | Token::Mul
        | Token::Div
        | Token::Mod
        | Token::StringConcat
        | Token::LParen
        | Token::RParen
        | Token::Period
        | Token::Colon
        | Token::DoubleColon
        | Token::LBracket
        | Token::RBracket
        | Token::Ampersand
        | Token::Pipe
        | Token::Caret
        | Token::Tilde
        | Token::TildeAsterisk
        | Token::ExclamationMarkTilde
        | Token::ExclamationMarkTildeAsterisk
        | Token::ShiftLeft
        | Token::ShiftRight => 0,
        other => {
            let other = other.to_string();
            return Err(Error::invalid(format!(
                "the expression has `{}`, which Lance's SQL does not know",
                short(&other)
            )));
        }
    };
    if length > MAX_LITERAL {
        return Err(Error::invalid(format!(
            "the expression has a value of {length} bytes; one may have {MAX_LITERAL}"
        )));
    }
    Ok(token)
}

/// The tokens without most of the values of each `IN (…)`: parsing a number takes a microsecond, and a list may have
/// 100,000. A single number or text between two commas there parses the same in any context.
pub fn condensed(tokens: Vec<Token>) -> Vec<Token> {
    let mut kept: Vec<Token> = Vec::with_capacity(tokens.len().min(1_000));
    let mut in_lists = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            Token::LParen => in_lists.push(is_keyword(kept.last(), Keyword::IN)),
            Token::LBracket => in_lists.push(false),
            Token::RParen | Token::RBracket => {
                in_lists.pop();
            }
            Token::Number(..) | Token::SingleQuotedString(_) => {
                let before = match kept.as_slice() {
                    [.., before, Token::Minus] | [.., before] => Some(before),
                    [] => None,
                };
                if in_lists.last() == Some(&true)
                    && before == Some(&Token::Comma)
                    && tokens.peek() == Some(&Token::Comma)
                {
                    if kept.last() == Some(&Token::Minus) {
                        kept.pop();
                    }
                    tokens.next();
                    continue;
                }
            }
            _ => {}
        }
        kept.push(token);
    }
    kept
}

fn is_keyword(token: Option<&Token>, keyword: Keyword) -> bool {
    matches!(token, Some(Token::Word(word)) if word.quote_style.is_none() && word.keyword == keyword)
}

/// The text of the tokens, which tokenizes to the same ones.
pub fn write(tokens: &[Token]) -> String {
    let mut text = String::with_capacity(tokens.len() * 4);
    for token in tokens {
        if !text.is_empty() {
            text.push(' ');
        }
        match token {
            Token::SingleQuotedString(value) => quoted(&mut text, value, '\''),
            Token::DoubleQuotedString(value) => quoted(&mut text, value, '"'),
            Token::Word(Word {
                value,
                quote_style: Some(quote),
                ..
            }) => quoted(&mut text, value, *quote),
            other => {
                let _ = write!(text, "{other}");
            }
        }
    }
    text
}

fn quoted(text: &mut String, value: &str, quote: char) {
    text.push(quote);
    for letter in value.chars() {
        if letter == quote {
            text.push(quote);
        }
        text.push(letter);
    }
    text.push(quote);
}
