//! Limits of tokens, checked before parsing.
//!
//! sqlparser only limits nested parentheses. Three kinds of text would harm it:
//!
//! - If a special form after a word such as CAST, NOT or CEIL does not parse, the parser reads the same tokens again,
//!   as a function call or as a column. It does so after the dot of a path, too, and where an argument could have a
//!   name. Each open one doubles the work.
//! - A chain such as `n+1+1+1…` becomes a tree as deep as the chain is long, which other code walks and drops
//!   recursively.
//! - Types such as `ARRAY<ARRAY<…` are parsed recursively without a limit.

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::Token;

use super::functions::Place;
use super::words::{begins_a_clause, begins_a_form, begins_a_query, is_form, is_operator};
use crate::error::{Error, Result};

/// Chained operators.
const MAX_CHAIN: usize = 500;
/// ANDs and ORs in one expression.
const MAX_CONDITIONS: usize = 20_000;
/// Nested brackets. The parser's limit is similar.
const MAX_BRACKETS: usize = 48;
/// Nested brackets of special forms, each of which may double the work of the parser.
const MAX_FORMS: usize = 8;
/// Names in a path.
const MAX_PATH: usize = 12;

/// Rejects tokens that would make the parser take long, or produce a tree too deep to drop.
pub fn check(tokens: &[Token], place: Place) -> Result<()> {
    let mut scan = Scan {
        place,
        ..Scan::default()
    };
    let significant = |token: &&Token| !matches!(token, Token::Whitespace(_));
    let mut rest = tokens.iter().filter(significant).peekable();
    while let Some(token) = rest.next() {
        scan.token(token, rest.peek().copied())?;
    }
    match scan.open.len() {
        1 => Ok(()),
        _ => Err(unbalanced()),
    }
}

/// The state after some tokens.
struct Scan {
    place: Place,
    /// The chain in each open bracket.
    open: Vec<Chain>,
    conditions: usize,
    /// The last token was a value, so an operator after it is binary.
    after_value: bool,
    /// The last token was a value and not a keyword.
    after_operand: bool,
    /// The last token was a word right after a bracket or comma, so it could name an argument.
    names: Naming,
    /// The last token, if it is a word that begins a special form.
    last_form: Option<Keyword>,
    /// Names of a path so far.
    path: usize,
}

/// The state of a named argument: `(name VALUE …`.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Naming {
    #[default]
    No,
    Begins,
    Named,
    Keyword,
}

/// Chained operators.
#[derive(Default)]
struct Chain {
    length: usize,
    /// BETWEENs whose AND follows later.
    between: usize,
    /// Special forms around the bracket.
    forms: usize,
    /// Its open CASEs, and the NOTs before the next operand.
    cases: usize,
    nots: usize,
}

impl Default for Scan {
    fn default() -> Self {
        Self {
            place: Place::Rows,
            open: vec![Chain::default()],
            conditions: 0,
            after_value: false,
            after_operand: false,
            names: Naming::default(),
            last_form: None,
            path: 0,
        }
    }
}

impl Scan {
    fn token(&mut self, token: &Token, next: Option<&Token>) -> Result<()> {
        let keyword = match token {
            Token::Word(word) if word.quote_style.is_none() => word.keyword,
            _ => Keyword::NoKeyword,
        };
        match token {
            Token::LParen | Token::LBracket | Token::LBrace => {
                if *token == Token::LBracket && self.after_value {
                    self.extend(1)?;
                }
                self.open(next)?;
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                // The content of a bracket is an operand outside of it.
                let inner = self.open.pop().map_or(0, |chain| chain.length);
                if self.open.is_empty() {
                    return Err(unbalanced());
                }
                self.extend(inner)?;
            }
            Token::Lt if self.last_form.is_some() => self.extend(MAX_CHAIN / MAX_FORMS)?,
            // The tokens after it are parsed twice.
            Token::RArrow | Token::Assignment => {
                return Err(named(&token.to_string()));
            }
            Token::Comma => {
                self.cut();
                // A CASE does not continue after it.
                if let Some(chain) = self.open.last_mut() {
                    chain.cases = 0;
                }
            }
            Token::Word(_) => self.word(keyword, next)?,
            Token::Period => {
                self.path += 1;
                if self.path > MAX_PATH {
                    return Err(Error::invalid(format!(
                        "the expression has a path of more than {MAX_PATH} names"
                    )));
                }
            }
            Token::Whitespace(_)
            | Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::DoubleQuotedString(_)
            | Token::HexStringLiteral(_) => {}
            _ => self.extend(1)?,
        }
        if !matches!(token, Token::Period | Token::Word(_)) {
            self.path = 0;
        }
        self.names = match (token, self.names) {
            (Token::LParen | Token::Comma, _) => Naming::Begins,
            (Token::Word(_), Naming::Begins) => match keyword {
                Keyword::NOT | Keyword::CASE | Keyword::SELECT => Naming::Keyword,
                Keyword::DISTINCT | Keyword::ALL => Naming::Keyword,
                _ => Naming::Named,
            },
            _ => Naming::No,
        };
        self.last_form = is_form(keyword).then_some(keyword);
        let is_word = matches!(token, Token::Word(_));
        let is_other_value = matches!(
            token,
            Token::RParen
                | Token::RBracket
                | Token::Number(..)
                | Token::SingleQuotedString(_)
                | Token::DoubleQuotedString(_)
                | Token::HexStringLiteral(_)
        );
        self.after_value = is_word || is_other_value;
        self.after_operand = match keyword {
            Keyword::NoKeyword => self.after_value,
            own => matches!(
                own,
                Keyword::NULL | Keyword::TRUE | Keyword::FALSE | Keyword::END
            ),
        };
        Ok(())
    }

    fn word(&mut self, keyword: Keyword, next: Option<&Token>) -> Result<()> {
        match keyword {
            // The tokens after it are parsed twice.
            Keyword::VALUE if self.names == Naming::Named => return Err(named("VALUE")),
            Keyword::VALUE if self.names == Naming::Keyword => {
                if let Some(chain) = self.open.last_mut() {
                    chain.cases += 1;
                }
            }
            Keyword::AND if self.closes_between() => {}
            Keyword::AND | Keyword::OR => {
                self.conditions += 1;
                if self.conditions > MAX_CONDITIONS {
                    return Err(Error::invalid(format!(
                        "the expression joins more than {MAX_CONDITIONS} conditions; compare with a \
                         list instead: column IN (…)"
                    )));
                }
                self.cut();
            }
            Keyword::BETWEEN => {
                self.extend(1)?;
                if let Some(chain) = self.open.last_mut() {
                    chain.between += 1;
                }
            }
            // Parsed twice at each level, without any bracket.
            Keyword::INTERVAL if next.is_some_and(begins_a_form) => {
                return Err(Error::invalid(
                    "INTERVAL takes a text: INTERVAL '1 day'; put a column of this name into backticks",
                ));
            }
            Keyword::NoKeyword => {}
            _ => self.extend(usize::from(is_operator(keyword)))?,
        }
        if let Some(chain) = self.open.last_mut() {
            match keyword {
                Keyword::NOT => chain.nots += 1,
                Keyword::CASE | Keyword::LAMBDA => chain.cases += 1,
                // After an operator these are columns.
                own if self.after_operand && begins_a_clause(own) => chain.nots = 0,
                Keyword::END if self.after_operand => {
                    chain.cases = chain.cases.saturating_sub(1);
                }
                _ => {}
            }
        }
        self.forms().map(drop)
    }

    /// Open special forms.
    fn forms(&self) -> Result<usize> {
        let last = self.open.last();
        let forms = last.map_or(0, |chain| chain.forms + chain.cases + chain.nots);
        if forms > MAX_FORMS {
            return Err(Error::invalid(format!(
                "the expression is nested too deeply: it may have {MAX_FORMS} CASTs, CASEs, NOTs, \
                 subqueries and the like in one another"
            )));
        }
        Ok(forms)
    }

    fn open(&mut self, next: Option<&Token>) -> Result<()> {
        let is_counted = self
            .last_form
            .is_some_and(|own| matches!(own, Keyword::NOT | Keyword::CASE));
        let is_form = self.path > 0
            || self.last_form.is_some()
            || next.is_some_and(|next| begins_a_query(next, self.place));
        let forms = self.forms()? + usize::from(is_form && !is_counted);
        if self.open.len() > MAX_BRACKETS {
            return Err(Error::invalid(format!(
                "the expression is nested too deeply: it may have {MAX_BRACKETS} brackets in one another"
            )));
        }
        self.open.push(Chain {
            forms,
            ..Chain::default()
        });
        Ok(())
    }

    fn closes_between(&mut self) -> bool {
        match self.open.last_mut() {
            Some(chain) if chain.between > 0 => {
                chain.between -= 1;
                true
            }
            _ => false,
        }
    }

    fn extend(&mut self, by: usize) -> Result<()> {
        if let Some(chain) = self.open.last_mut() {
            chain.length += by;
        }
        if by > 0 && self.open.iter().map(|chain| chain.length).sum::<usize>() > MAX_CHAIN {
            return Err(Error::invalid(format!(
                "the expression applies more than {MAX_CHAIN} operators to one another; split it"
            )));
        }
        Ok(())
    }

    fn cut(&mut self) {
        if let Some(chain) = self.open.last_mut() {
            chain.length = 0;
            chain.between = 0;
            chain.nots = 0;
        }
    }
}

fn named(operator: &str) -> Error {
    Error::invalid(format!(
        "the expression has `{operator}`; arguments have no names here"
    ))
}

fn unbalanced() -> Error {
    Error::invalid("the expression's parentheses do not match")
}
