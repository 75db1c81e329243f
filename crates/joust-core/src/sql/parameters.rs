//! Parameter values of a query. They become literals of the parsed query, never text of it, so that the same
//! [limits](super::limits) apply.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Array, Expr, UnaryOperator, Value as Literal, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::tokenizer::Token;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use super::placeholders;
use crate::error::{Error, Result};
use crate::names::short;

/// Nested lists in a value.
const MAX_LISTS: usize = 4;

/// The parameters of a query.
#[derive(Debug, Clone, Copy)]
pub enum Given<'a> {
    /// Their values, and the names of the first ones.
    Values(&'a [Value], &'a [String]),
    /// The same, with the types of those whose JSON values have none.
    Typed(&'a [Value], &'a [String], &'a [Option<ValueType>]),
    /// Several rows of values, which have these names: the statement is read once for all of them.
    Rows(&'a [String]),
    /// Not known yet: the query is only described.
    Open,
}

/// The type of a value that is text in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueType {
    Date,
    /// Digits of its fractions of a second.
    Timestamp(u8),
    /// Precision and scale.
    Decimal(u8, u8),
}

/// The values for `$1`, `$2`, ….
pub struct Parameters {
    given: Vec<Value>,
    values: Vec<Expr>,
    types: Vec<Option<ValueType>>,
    /// The values are not known yet: all are NULL.
    is_open: bool,
    /// Placeholders that are not replaced yet.
    left: usize,
}

impl Parameters {
    /// Numbers the placeholders of a statement. Every placeholder needs a value, and every value a placeholder.
    pub fn read(tokens: Vec<Token>, given: Given<'_>) -> Result<(Vec<Token>, Self)> {
        let is_counted = matches!(given, Given::Open);
        let types = match given {
            Given::Typed(_, _, types) => types.to_vec(),
            _ => Vec::new(),
        };
        let (tokens, given, is_open) = match given {
            Given::Values(values, names) | Given::Typed(values, names, _) => {
                (placeholders::number(tokens, names)?, values.to_vec(), false)
            }
            Given::Rows(names) => {
                let tokens = placeholders::number(tokens, names)?;
                (tokens, vec![Value::Null; names.len()], true)
            }
            Given::Open => {
                let tokens = placeholders::number(tokens, &[])?;
                let count = placeholders::count(&tokens)?;
                (tokens, vec![Value::Null; count], true)
            }
        };
        let mut used = vec![false; given.len()];
        let mut left = 0;
        for token in &tokens {
            let name = match token {
                Token::Placeholder(name) => name.as_str(),
                _ => continue,
            };
            left += 1;
            let place = number(name).and_then(|number| used.get_mut(number - 1));
            match place {
                Some(used) => *used = true,
                None if number(name).is_some() => {
                    return Err(Error::invalid(format!(
                        "the query has `{}` and {}; give as many values in `parameters`",
                        short(name),
                        counted(given.len())
                    )));
                }
                None => return Err(unnamed(name)),
            }
        }
        if let Some(unused) = used.iter().position(|used| !used)
            && !is_counted
        {
            return Err(Error::invalid(format!(
                "`parameters` has a value that the query does not use: it has no `${}`; leave the value out or \
                 use it",
                unused + 1
            )));
        }
        let literals = given.iter().enumerate().map(|(at, value)| {
            literal(value, 0).map_err(|error| {
                Error::invalid(format!("parameter {}: {}", at + 1, error.message()))
            })
        });
        let values = literals.collect::<Result<_>>()?;
        Ok((
            tokens,
            Self {
                given,
                values,
                types,
                is_open,
                left,
            },
        ))
    }

    pub fn given(&self) -> &[Value] {
        &self.given
    }

    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Some placeholders are not part of the query: a search has replaced them.
    pub fn used_by_searches(&mut self, count: usize) {
        self.left = self.left.saturating_sub(count);
    }

    /// Replaces the placeholders of a query.
    pub fn bind_in(&mut self, query: &mut impl VisitMut) {
        let _: ControlFlow<()> = query.visit(self);
    }

    /// The value of a placeholder outside of an expression.
    pub fn value(&mut self, placeholder: &str) -> Option<Value> {
        let at = number(placeholder)? - 1;
        let value = self.given.get(at)?.clone();
        self.left = self.left.saturating_sub(1);
        Some(value)
    }

    /// The literal in place of a placeholder, as tokens for Lance. Lance takes no text for a date, a timestamp or a
    /// decimal, and no double for an integer: it casts a literal only to some types, and any value with a cast.
    pub fn tokens(&mut self, placeholder: &str) -> Result<Vec<Token>> {
        let value = self.value(placeholder).ok_or_else(misplaced)?;
        let at = number(placeholder).unwrap_or_default().wrapping_sub(1);
        let mut tokens = Vec::new();
        match &value {
            Value::String(_) if let Some(Some(data_type)) = self.types.get(at) => {
                write_cast(&value, &data_type.tokens(), &mut tokens);
            }
            // A fraction has no equal among the integers.
            Value::Number(number)
                if number.is_f64() && value.as_f64().is_some_and(|value| value.fract() == 0.0) =>
            {
                write_cast(&value, &[word("DOUBLE")], &mut tokens);
            }
            // In parentheses, so that the tokens around it do not change its meaning.
            Value::Number(_) if value.as_f64().is_some_and(|number| number < 0.0) => {
                tokens.push(Token::LParen);
                write(&value, &mut tokens);
                tokens.push(Token::RParen);
            }
            _ => write(&value, &mut tokens),
        }
        Ok(tokens)
    }

    /// Checks that all placeholders are replaced.
    pub fn finish(&self) -> Result<()> {
        match self.left {
            0 => Ok(()),
            _ => Err(misplaced()),
        }
    }
}

impl ValueType {
    fn tokens(self) -> Vec<Token> {
        let number = |number: u8| Token::Number(number.to_string(), false);
        match self {
            Self::Date => vec![word("DATE")],
            Self::Timestamp(digits) => {
                vec![
                    word("TIMESTAMP"),
                    Token::LParen,
                    number(digits),
                    Token::RParen,
                ]
            }
            Self::Decimal(precision, scale) => vec![
                word("DECIMAL"),
                Token::LParen,
                number(precision),
                Token::Comma,
                number(scale),
                Token::RParen,
            ],
        }
    }
}

fn word(keyword: &str) -> Token {
    Token::make_keyword(keyword)
}

/// Appends `CAST(value AS type)`.
fn write_cast(value: &Value, data_type: &[Token], tokens: &mut Vec<Token>) {
    tokens.extend([word("CAST"), Token::LParen]);
    write(value, tokens);
    tokens.push(word("AS"));
    tokens.extend_from_slice(data_type);
    tokens.push(Token::RParen);
}

fn misplaced() -> Error {
    Error::invalid("a parameter stands only where a value can stand in an expression")
}

/// Appends a literal.
fn write(value: &Value, tokens: &mut Vec<Token>) {
    match value {
        Value::Null => tokens.push(Token::make_keyword("NULL")),
        Value::Bool(true) => tokens.push(Token::make_keyword("TRUE")),
        Value::Bool(false) => tokens.push(Token::make_keyword("FALSE")),
        Value::Number(number) => {
            let text = number.to_string();
            match text.strip_prefix('-') {
                Some(digits) => {
                    tokens.extend([Token::Minus, Token::Number(digits.to_string(), false)]);
                }
                None => tokens.push(Token::Number(text, false)),
            }
        }
        Value::String(text) => tokens.push(Token::SingleQuotedString(text.clone())),
        // `Parameters::read` rejects objects.
        Value::Object(_) => {}
        Value::Array(items) => {
            tokens.push(Token::LBracket);
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    tokens.push(Token::Comma);
                }
                write(item, tokens);
            }
            tokens.push(Token::RBracket);
        }
    }
}

impl VisitorMut for Parameters {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Value(value) = expr
            && let Literal::Placeholder(name) = &value.value
            && let Some(bound) = number(name).and_then(|number| self.values.get(number - 1))
        {
            *expr = bound.clone();
            self.left = self.left.saturating_sub(1);
        }
        ControlFlow::Continue(())
    }
}

fn unnamed(placeholder: &str) -> Error {
    Error::invalid(format!(
        "the query has the placeholder `{}`; placeholders are $1, $2 and so on, or ?",
        short(placeholder)
    ))
}

/// 1 for `$1`.
pub fn number(placeholder: &str) -> Option<usize> {
    let digits = placeholder.strip_prefix('$')?;
    digits.parse().ok().filter(|number| *number > 0)
}

fn counted(values: usize) -> String {
    match values {
        1 => "1 parameter".to_string(),
        many => format!("{many} parameters"),
    }
}

fn literal(value: &Value, lists: usize) -> Result<Expr> {
    match value {
        Value::Null => Ok(of(Literal::Null)),
        Value::Bool(value) => Ok(of(Literal::Boolean(*value))),
        Value::Number(number) => Ok(signed(number)),
        Value::String(text) => Ok(of(Literal::SingleQuotedString(text.clone()))),
        Value::Array(_) if lists == MAX_LISTS => Err(Error::invalid(format!(
            "it has more than {MAX_LISTS} lists around one another"
        ))),
        Value::Array(items) => {
            let elem = items.iter().map(|item| literal(item, lists + 1));
            Ok(Expr::Array(Array {
                elem: elem.collect::<Result<_>>()?,
                named: true,
            }))
        }
        Value::Object(_) => Err(Error::invalid(
            "an object can't be a value; give a text, number, boolean, null or list",
        )),
    }
}

fn signed(number: &Number) -> Expr {
    let text = number.to_string();
    match text.strip_prefix('-') {
        Some(digits) => Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr: Box::new(of(Literal::Number(digits.to_string(), false))),
        },
        None => of(Literal::Number(text, false)),
    }
}

fn of(literal: Literal) -> Expr {
    Expr::Value(literal.into())
}
