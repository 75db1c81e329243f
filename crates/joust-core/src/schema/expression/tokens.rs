//! The tokens of an expression, as Lance's planner reads them.
//!
//! sqlparser limits nested parentheses and nothing else. Three kinds of text would hurt it:
//!
//! - Where a word such as CAST, NOT or CEIL begins a special form that can't be read, the parser reads
//!   the same tokens again, as a call of a function or as a column. So it does behind the dot of a path,
//!   and where an argument could have a name. Each of them that is open doubles the work.
//! - A chain such as `n+1+1+1…` becomes a tree as deep as the chain is long, which others walk and drop
//!   recursively.
//! - Types such as `ARRAY<ARRAY<…` are read recursively without a limit.
//!
//! All are counted here in the tokens, before the parser sees them.

use std::any::TypeId;
use std::fmt::Write;

use datafusion::sql::sqlparser::dialect::{Dialect, GenericDialect};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer, Whitespace, Word};

use super::MAX_LITERAL;
use super::functions::Place;
use crate::error::{Error, Result};
use crate::names::short;

/// Operators that apply to one another.
const MAX_CHAIN: usize = 500;
/// ANDs and ORs in one expression.
const MAX_CONDITIONS: usize = 20_000;
/// Tokens of an expression: a list of 200,000 numbers has twice as many.
const MAX_TOKENS: usize = 1_000_000;
/// Brackets in one another. The parser's own limit is about as high.
const MAX_BRACKETS: usize = 48;
/// Brackets of special forms in one another, each of which may double the work of the parser.
const MAX_FORMS: usize = 8;
/// Names in a path.
const MAX_PATH: usize = 12;

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

/// The tokens of an expression in parentheses, without the space between them. `==` is `=`, as in
/// Lance's planner.
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
            // No function of Lance's has such a name: it is a column.
            Token::Word(word) if is_user(&word) => tokens.push(Token::Word(Word {
                quote_style: Some('`'),
                keyword: Keyword::NoKeyword,
                ..word
            })),
            Token::Number(digits, _) if digits == LEAST && is_negated(&tokens) => {
                // Lance reads the number before the minus, for which there is no integer type.
                let number = |digits: &str| Token::Number(digits.to_string(), false);
                tokens.pop();
                tokens.extend([Token::LParen, Token::Minus, number(LARGEST), Token::Minus]);
                tokens.extend([number("1"), Token::RParen]);
            }
            token => tokens.push(allowed(token)?),
        }
        after_equals = equals && !after_equals;
    }
    check(&tokens, Place::Rows)?;
    tokens.insert(0, Token::LParen);
    tokens.push(Token::RParen);
    Ok(tokens)
}

/// The tokens of a text; comments and placeholders are refused.
pub fn tokenize(dialect: &dyn Dialect, sql: &str) -> Result<Vec<Token>> {
    let tokens = Tokenizer::new(dialect, sql).tokenize().map_err(|error| {
        Error::invalid(format!("the expression can't be read: {}", error.message))
    })?;
    if tokens.len() > 2 * MAX_TOKENS {
        return Err(Error::invalid(format!(
            "the expression has more than {MAX_TOKENS} names, values and operators; split it"
        )));
    }
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

/// The least integer without its sign, and the largest.
const LEAST: &str = "9223372036854775808";
const LARGEST: &str = "9223372036854775807";

/// Whether what comes next has a sign, so that no minus is an operator between two values.
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

/// Refuses kinds of literals that Lance's planner does not know, and long ones.
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

/// Refuses tokens that would keep the parser busy, or make a tree too deep to drop.
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

/// The tokens without most of the values of each `IN (…)`: to parse a number takes a microsecond, and a
/// list may have 100,000. What stands between two commas there and is one number or text is read as
/// that wherever it stands.
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

/// The tokens as text, which has the same tokens.
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

/// What is known after some tokens.
struct Scan {
    place: Place,
    /// The chain in each open bracket.
    open: Vec<Chain>,
    conditions: usize,
    /// The last token was a value, so that an operator after it joins two.
    after_value: bool,
    /// The last token was a value and no keyword.
    after_operand: bool,
    /// The last token was a word directly behind a bracket or comma, so that it could name an argument.
    names: Naming,
    /// The last token, when it is a word that begins a special form.
    last_form: Option<Keyword>,
    /// Names of a path so far.
    path: usize,
}

/// How far an argument with a name has been read: `(name VALUE …`.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Naming {
    #[default]
    No,
    Begins,
    Named,
    Keyword,
}

/// Operators that apply to one another.
#[derive(Default)]
struct Chain {
    length: usize,
    /// BETWEENs whose AND is still to come.
    between: usize,
    /// Special forms that the bracket is in.
    forms: usize,
    /// CASEs in it that have not ended, and NOTs in front of what is to come.
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
                // What was inside is an operand of what is outside.
                let inner = self.open.pop().map_or(0, |chain| chain.length);
                if self.open.is_empty() {
                    return Err(unbalanced());
                }
                self.extend(inner)?;
            }
            Token::Lt if self.last_form.is_some() => self.extend(MAX_CHAIN / MAX_FORMS)?,
            // What stands behind one is read twice.
            Token::RArrow | Token::Assignment => {
                return Err(named(&token.to_string()));
            }
            Token::Comma => {
                self.cut();
                // No CASE goes on behind it.
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
            // What stands behind it is read twice.
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
            // Read twice at each level, without any bracket.
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

    /// Special forms that are open.
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

/// Words that join two values, come after one or stand before one, as operators do.
fn is_operator(keyword: Keyword) -> bool {
    use Keyword as K;
    matches!(
        keyword,
        K::IS
            | K::LIKE
            | K::ILIKE
            | K::IN
            | K::NOT
            | K::DIV
            | K::COLLATE
            | K::AT
            | K::SIMILAR
            | K::RLIKE
            | K::REGEXP
            | K::ESCAPE
            | K::XOR
            | K::INTERVAL
            | K::PRIOR
            | K::EXISTS
            | K::CASE
            | K::DATE
            | K::TIME
            | K::TIMESTAMP
            | K::ANY
            | K::ALL
            | K::SOME
            | K::DISTINCT
            | K::NOTNULL
    )
}

/// Words that begin a form which the parser reads again as a call when it can't be read, and types
/// that hold others.
fn is_form(keyword: Keyword) -> bool {
    use Keyword as K;
    matches!(
        keyword,
        K::CASE
            | K::CAST
            | K::TRY_CAST
            | K::SAFE_CAST
            | K::CONVERT
            | K::TRY_CONVERT
            | K::CEIL
            | K::FLOOR
            | K::POSITION
            | K::SUBSTR
            | K::SUBSTRING
            | K::OVERLAY
            | K::TRIM
            | K::EXTRACT
            | K::NOT
            | K::IN
            | K::ANY
            | K::ALL
            | K::SOME
            | K::EXISTS
            | K::INTERVAL
            | K::ARRAY
            | K::STRUCT
            | K::MAP
            | K::TUPLE
            | K::NESTED
            | K::NULLABLE
            | K::LOWCARDINALITY
            | K::UNION
            | K::MATCH
            | K::LAMBDA
            | K::PRIOR
            | K::CURRENT_DATE
            | K::CURRENT_TIME
            | K::CURRENT_TIMESTAMP
            | K::LOCALTIME
            | K::LOCALTIMESTAMP
    )
}

/// Words of a statement behind which no NOT before them goes on.
fn begins_a_clause(keyword: Keyword) -> bool {
    use Keyword as K;
    matches!(
        keyword,
        K::UNION | K::EXCEPT | K::INTERSECT | K::MINUS | K::WHERE | K::HAVING | K::GROUP | K::ORDER
    )
}

/// Whether what is in a bracket could be a query, which the parser tries first.
fn begins_a_query(token: &Token, place: Place) -> bool {
    use Keyword as K;
    match token {
        Token::Word(word) if word.quote_style.is_none() => matches!(
            word.keyword,
            K::SELECT | K::WITH | K::VALUES | K::VALUE | K::TABLE | K::FROM
        ),
        Token::LParen => place == Place::View,
        _ => false,
    }
}

/// Whether a token after INTERVAL could begin another form. Any word could: `in (` is a call there.
fn begins_a_form(token: &Token) -> bool {
    match token {
        Token::Word(word) => word.quote_style.is_none(),
        Token::LParen | Token::LBracket | Token::LBrace | Token::Minus | Token::Plus => true,
        Token::Tilde | Token::ExclamationMark => true,
        _ => false,
    }
}
