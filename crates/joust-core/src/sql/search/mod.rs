//! Searches in a statement: the table functions `vector_search`, `text_search` and `hybrid_search`.
//!
//! [`call`] reads their arguments from the tokens of the statement, because sqlparser parses named arguments twice.
//! [`function`] turns the arguments into a query. Until the statement is planned, the name of a table with a [`MARK`]
//! is in the place of each call; [`place`] checks that it is in a FROM.
//!
//! The WHERE of the SELECT that has a search in its FROM restricts the rows that are searched ([`prefilter`]). DataFusion
//! pushes no other condition into a search: its optimizer would change which rows are found. [`open`] chooses the
//! strategy of a search, and [`table`] is its result as a table.

mod call;
mod fetch;
mod function;
mod open;
mod place;
mod plan;
mod prefilter;
mod table;

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Word};

pub use open::{OpenSearch, OpenTable};
pub use place::misplaced;
pub use plan::{SearchPlan, with_searches};
pub use table::SearchTable;

use super::parameters::Parameters;
use super::statement::TableName;
use crate::error::{Code, Error, Result};
use crate::query::Query;
use function::Function;

/// Begins the name of a search; no name of a client contains it.
const MARK: char = '\u{1}';
/// The most searches of a statement.
const MAX_SEARCHES: usize = 8;

/// The searches of a statement.
#[derive(Default)]
pub struct Searches {
    all: Vec<Search>,
    /// They need parameters whose values are not known: `all` lacks those that do.
    is_open: bool,
}

struct Search {
    function: Function,
    table: TableName,
    query: Query,
    /// The name of its columns' relation.
    alias: String,
}

impl Searches {
    /// Reads the calls from the tokens of a statement and replaces each by a name. Returns the number of placeholders
    /// in the calls, too.
    pub fn read(tokens: Vec<Token>, parameters: &Parameters) -> Result<(Vec<Token>, Self, usize)> {
        refuse_marks(&tokens)?;
        let mut searches = Self::default();
        let mut placeholders = 0;
        if !tokens
            .iter()
            .any(|token| Function::of_token(token).is_some())
        {
            return Ok((tokens, searches, placeholders));
        }
        let mut kept = Vec::with_capacity(tokens.len());
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let rest = &tokens[at + 1..];
            match Function::of_token(token).filter(|_| is_call(&kept, rest)) {
                Some(function) => {
                    let call = call::read(function, rest, parameters.given())?;
                    at += 1 + call.tokens;
                    placeholders += call.placeholders;
                    kept.push(word(searches.all.len()));
                    match parameters.is_open() && call.placeholders > 0 {
                        true => searches.is_open = true,
                        false => searches.add(function, call)?,
                    }
                }
                None => {
                    kept.push(token.clone());
                    at += 1;
                }
            }
        }
        Ok((kept, searches, placeholders))
    }

    fn add(&mut self, function: Function, call: call::Call) -> Result<()> {
        if self.all.len() == MAX_SEARCHES {
            return Err(Error::invalid(format!(
                "the query has more than {MAX_SEARCHES} searches; split it into several queries"
            )));
        }
        let (table, query) = function.query(call)?;
        self.all.push(Search {
            function,
            table: TableName::of_text(&table)
                .map_err(|error| function.error(error.code(), error.message()))?,
            query,
            alias: function.name().to_string(),
        });
        Ok(())
    }

    /// Whether a search needs parameters whose values are not known.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether there is none, also none that needs such parameters.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty() && !self.is_open
    }

    /// The tables that they search.
    pub fn tables(&self) -> impl Iterator<Item = &TableName> {
        self.all.iter().map(|search| &search.table)
    }
}

/// Whether a table's name is the place of a search.
pub fn is_search(name: &str) -> bool {
    name.starts_with(MARK)
}

/// Whether a text of the parser contains the name of a search.
pub fn is_mentioned(text: &str) -> bool {
    text.contains(MARK)
}

/// The name in the place of the n-th search.
fn name(number: usize) -> String {
    format!("{MARK}{number}")
}

/// The number of the search whose place a name is.
fn number(name: &str) -> Option<usize> {
    name.strip_prefix(MARK)?.parse().ok()
}

fn word(number: usize) -> Token {
    Token::Word(Word {
        value: name(number),
        quote_style: Some('"'),
        keyword: Keyword::NoKeyword,
    })
}

/// Whether a word is a function's name: without a schema before it, and with a bracket behind it. Behind INTO, TABLE and
/// EXISTS it is the name of a table with its columns: `INSERT INTO text_search (a)`.
fn is_call(before: &[Token], rest: &[Token]) -> bool {
    let is_text = |token: &&Token| !matches!(token, Token::Whitespace(_));
    let is_name = match before.iter().rev().find(is_text) {
        Some(Token::Period) => true,
        Some(Token::Word(word)) => matches!(
            word.keyword,
            Keyword::INTO | Keyword::TABLE | Keyword::EXISTS
        ),
        _ => false,
    };
    !is_name && rest.iter().find(is_text) == Some(&Token::LParen)
}

fn refuse_marks(tokens: &[Token]) -> Result<()> {
    let is_marked = |token: &Token| matches!(token, Token::Word(word) if word.value.contains(MARK));
    match tokens.iter().any(is_marked) {
        true => Err(Error::invalid("a name can't have a character of code 1")),
        false => Ok(()),
    }
}

/// Rejects the searches of a view.
pub fn refuse_in_view(tokens: &[Token]) -> Result<()> {
    refuse_marks(tokens)?;
    for (at, token) in tokens.iter().enumerate() {
        if let Some(function) = Function::of_token(token)
            && is_call(&tokens[..at], &tokens[at + 1..])
        {
            let message = "the query of a materialized view cannot search; search the view itself";
            return Err(function.error(Code::InvalidInput, message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
