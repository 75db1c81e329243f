//! Reads the arguments of a search from tokens: constants and parameters, by position or by name (`k => 10`).

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Word};
use serde_json::{Number, Value};

use super::function::Function;
use crate::error::{Error, Result};
use crate::names::short;

/// Nested lists in an argument: vectors in a list.
const MAX_LISTS: usize = 2;

/// The arguments of a call.
#[derive(Debug, Default)]
pub struct Call {
    pub positional: Vec<Value>,
    pub named: Vec<(String, Value)>,
    /// Placeholders among the arguments.
    pub placeholders: usize,
    /// Tokens from the opening bracket to the closing one.
    pub tokens: usize,
}

/// `tokens` begin with the opening bracket. `values` are the parameters of the statement.
pub fn read(function: Function, tokens: &[Token], values: &[Value]) -> Result<Call> {
    let mut reader = Reader {
        function,
        tokens,
        values,
        call: Call::default(),
    };
    reader.arguments()?;
    Ok(reader.call)
}

struct Reader<'a> {
    function: Function,
    tokens: &'a [Token],
    values: &'a [Value],
    call: Call,
}

impl<'a> Reader<'a> {
    fn arguments(&mut self) -> Result<()> {
        // The opening bracket.
        self.next();
        if self.peek() == Some(&Token::RParen) {
            self.next();
            return Ok(());
        }
        loop {
            match self.argument_name() {
                Some(name) => {
                    let value = self.value(0)?;
                    self.call.named.push((name, value));
                }
                None if self.call.named.is_empty() => {
                    let value = self.value(0)?;
                    self.call.positional.push(value);
                }
                None => {
                    return Err(self.error(
                        "an argument without a name follows one with a name; put the ones with \
                         names last",
                    ));
                }
            }
            match self.next() {
                Some(Token::Comma) => {}
                Some(Token::RParen) => return Ok(()),
                other => return Err(self.not_constant(other)),
            }
        }
    }

    /// Reads `name =>`, if it is next.
    fn argument_name(&mut self) -> Option<String> {
        let before = self.call.tokens;
        if let Some(Token::Word(Word { value, .. })) = self.next()
            && self.peek() == Some(&Token::RArrow)
        {
            self.next();
            return Some(value.clone());
        }
        self.call.tokens = before;
        None
    }

    fn value(&mut self, lists: usize) -> Result<Value> {
        let token = self.next();
        match token {
            Some(Token::SingleQuotedString(text)) => Ok(Value::String(text.clone())),
            Some(Token::Number(digits, _)) => self.number(digits),
            Some(sign @ (Token::Minus | Token::Plus)) => match self.next() {
                Some(Token::Number(digits, _)) if *sign == Token::Minus => {
                    self.number(&format!("-{digits}"))
                }
                Some(Token::Number(digits, _)) => self.number(digits),
                other => Err(self.not_constant(other)),
            },
            Some(Token::Placeholder(name)) => self.parameter(name),
            Some(Token::LBracket) => self.list(lists),
            Some(Token::Word(word)) if word.quote_style.is_none() => match word.keyword {
                Keyword::NULL => Ok(Value::Null),
                Keyword::TRUE => Ok(Value::Bool(true)),
                Keyword::FALSE => Ok(Value::Bool(false)),
                Keyword::ARRAY if self.peek() == Some(&Token::LBracket) => {
                    self.next();
                    self.list(lists)
                }
                _ => Err(self.not_constant(token)),
            },
            other => Err(self.not_constant(other)),
        }
    }

    /// The rest of a list, behind its opening bracket.
    fn list(&mut self, lists: usize) -> Result<Value> {
        if lists == MAX_LISTS {
            return Err(self.error("a list holds numbers, or lists of numbers"));
        }
        let mut items = Vec::new();
        if self.peek() == Some(&Token::RBracket) {
            self.next();
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value(lists + 1)?);
            match self.next() {
                Some(Token::Comma) => {}
                Some(Token::RBracket) => return Ok(Value::Array(items)),
                other => return Err(self.not_constant(other)),
            }
        }
    }

    fn number(&self, digits: &str) -> Result<Value> {
        let number = match (digits.parse::<i64>(), digits.parse::<u64>()) {
            (Ok(number), _) => Some(Number::from(number)),
            (_, Ok(number)) => Some(Number::from(number)),
            _ => digits.parse().ok().and_then(Number::from_f64),
        };
        number
            .map(Value::Number)
            .ok_or_else(|| self.error(&format!("`{}` is not a number", short(digits))))
    }

    fn parameter(&mut self, name: &str) -> Result<Value> {
        let number = name
            .strip_prefix('$')
            .and_then(|digits| digits.parse::<usize>().ok());
        let value = number
            .and_then(|number| number.checked_sub(1))
            .and_then(|index| self.values.get(index));
        self.call.placeholders += 1;
        value.cloned().ok_or_else(|| {
            self.error(&format!(
                "there is no value for the placeholder `{}`",
                short(name)
            ))
        })
    }

    fn peek(&self) -> Option<&'a Token> {
        let mut rest = self.tokens[self.call.tokens..].iter();
        rest.find(|token| !matches!(token, Token::Whitespace(_)))
    }

    fn next(&mut self) -> Option<&'a Token> {
        while let Some(token) = self.tokens.get(self.call.tokens) {
            self.call.tokens += 1;
            if !matches!(token, Token::Whitespace(_)) {
                return Some(token);
            }
        }
        None
    }

    fn not_constant(&self, token: Option<&Token>) -> Error {
        match token {
            Some(token) => self.error(&format!(
                "the arguments are constants: a text, a number, a list of numbers, or a parameter \
                 such as $1; `{}` is none",
                short(&token.to_string())
            )),
            None => self.error("the arguments have no closing parenthesis"),
        }
    }

    fn error(&self, message: &str) -> Error {
        Error::invalid(format!("{}: {message}", self.function.name()))
    }
}
