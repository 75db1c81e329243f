//! Checks SQL expressions of clients before Lance plans them.
//!
//! A text is parsed once, in the dialect of Lance's planner, and the tree is walked: anything that is not known to be
//! harmless is rejected. Lance gets the tokens of that tree, written again, and never the client's text. Lance and
//! DataFusion do not check the following:
//!
//! - Lance parses a prefix of a condition and ignores the rest: `id = 3 AN x = 1` would be `id = 3`, and a delete would
//!   remove more rows than intended. Here all of the text must parse.
//! - The parser's work and the depth of its tree have no useful limit ([`scan`]).
//! - Any function can be called. A few have large results for small input (`repeat('x', 1000000000)`) or take long
//!   ([`functions`], [`size`]). A failed allocation aborts the process, and constant folding during planning cannot be
//!   cancelled.
//! - Some comparisons mean something else than they seem to ([`comparisons`]).
//! - JSON and paths into it are read recursively ([`json`]).

#[cfg(test)]
mod busy_tests;
mod calls;
mod comparisons;
mod functions;
mod held;
pub(crate) mod json;
mod known;
mod literals;
mod nulls;
mod operands;
mod scan;
mod size;
#[cfg(test)]
mod tests;
mod tokens;
mod types;
mod walk;
mod words;

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use datafusion::sql::sqlparser::ast::{BinaryOperator, DataType, Expr, Value};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

pub use functions::Place;
pub use scan::check as check_tokens;
pub use size::{MAX_GROWTH, Size};
pub use tokens::{tokenize, tokenize_statement, write as write_tokens};
pub use walk::Walk;

use crate::error::{Error, Result};
use crate::names::short;

/// Bytes of a text or binary literal.
pub const MAX_LITERAL: usize = 64 << 10;

/// Whether a statement may call the function of this name, in lower case.
pub fn is_available(function: &str) -> bool {
    functions::find(function, Place::View).is_some()
}

/// A checked expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression(Arc<Checked>);

#[derive(Debug, PartialEq, Eq)]
struct Checked {
    sql: String,
    is_immutable: bool,
    peak: Size,
    calls: u64,
    columns: BTreeSet<String>,
    lists: nulls::Lists,
    /// See [`Expression::with_decided_nulls`].
    decided: OnceLock<Expression>,
}

impl Expression {
    /// Parses all of a text. Errors: it does not parse, is not available, is nested too deeply or could become too
    /// large.
    pub fn new(sql: &str) -> Result<Self> {
        known::get(sql, || Self::check(sql))
    }

    fn check(sql: &str) -> Result<Self> {
        let tokens = tokens::read(sql)?;
        let sql = tokens::write(&tokens);
        let tree = parse(tokens::condensed(tokens))?;
        if !matches!(tree.0, Expr::Nested(_)) {
            return Err(Error::invalid("one expression is expected here"));
        }
        let mut walk = Walk::new(Place::Rows);
        walk.expression(&tree.0)?;
        Ok(Self(Arc::new(Checked {
            sql,
            is_immutable: walk.is_immutable,
            peak: walk.peak,
            calls: walk.calls,
            columns: walk.columns,
            lists: nulls::Lists::of(&tree.0, walk.comparisons),
            decided: OnceLock::new(),
        })))
    }

    /// The SQL for Lance: in parentheses, so that nothing can be appended.
    pub fn sql(&self) -> &str {
        &self.0.sql
    }

    /// Whether its value for a row of a version is constant: it calls neither `now()` nor `random()`. Only such results
    /// may be cached.
    pub fn is_immutable(&self) -> bool {
        self.0.is_immutable
    }
}

impl Expression {
    /// The most bytes of its results for a row, besides numbers, dates and booleans.
    pub(super) fn peak(&self) -> Size {
        self.0.peak
    }

    /// The operations for a row that may take longer than a comparison or arithmetic.
    pub(super) fn calls(&self) -> u64 {
        self.0.calls
    }

    /// This and another expression, joined by AND or OR. Both are complete expressions, so neither can change the
    /// meaning of the other one.
    pub fn joined(&self, operator: &BinaryOperator, other: &Self) -> Result<Self> {
        let joined = Self::new(&format!("{} {operator} {}", self.sql(), other.sql()))?;
        let tree = parse(tokens::condensed(tokens::read(joined.sql())?))?;
        match is_join(&tree.0, operator) {
            true => Ok(joined),
            false => Err(Error::invalid(
                "the conditions can't be joined; simplify them",
            )),
        }
    }

    /// The columns that it reads, and other identifiers.
    pub(super) fn columns(&self) -> impl Iterator<Item = &str> {
        self.0.columns.iter().map(String::as_str)
    }
}

/// An expression in the form for Lance.
pub fn whole(sql: &str) -> Result<String> {
    Ok(Expression::new(sql)?.sql().to_string())
}

/// Rejects a type that no cast may have.
pub fn check_type(data_type: &DataType) -> Result<()> {
    types::cast(Size::SMALL, data_type).map(|_| ())
}

fn parse(tokens: Vec<Token>) -> Result<Tree> {
    let dialect = tokens::LanceDialect::new();
    let mut parser = Parser::new(&dialect).with_tokens(tokens);
    let tree = Tree(parser.parse_expr().map_err(of_parser)?);
    match parser.peek_token().token {
        Token::EOF => Ok(tree),
        rest => Err(Error::invalid(format!(
            "the expression has `{}` where it should end",
            short(&rest.to_string())
        ))),
    }
}

fn of_parser(error: ParserError) -> Error {
    match error {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => {
            Error::invalid(format!("the expression can't be read: {}", short(&text)))
        }
        ParserError::RecursionLimitExceeded => {
            Error::invalid("the expression is nested too deeply; split it")
        }
    }
}

/// Whether a tree is one operator between two expressions in parentheses, which is itself in parentheses.
fn is_join(tree: &Expr, operator: &BinaryOperator) -> bool {
    let mut tree = tree;
    while let Expr::Nested(inner) = tree {
        tree = inner;
    }
    matches!(
        tree,
        Expr::BinaryOp { left, op, right }
            if op == operator
                && matches!(left.as_ref(), Expr::Nested(_))
                && matches!(right.as_ref(), Expr::Nested(_))
    )
}

/// A tree that is dropped without recursion: a chain of ANDs is as deep as it is long.
struct Tree(Expr);

impl Drop for Tree {
    fn drop(&mut self) {
        let mut rest = vec![std::mem::replace(&mut self.0, nothing())];
        while let Some(expr) = rest.pop() {
            match expr {
                Expr::BinaryOp { left, right, .. } => rest.extend([*left, *right]),
                Expr::Nested(inner) | Expr::UnaryOp { expr: inner, .. } => rest.push(*inner),
                _ => {}
            }
        }
    }
}

fn nothing() -> Expr {
    Expr::Value(Value::Null.into())
}
