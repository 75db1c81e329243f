//! Predicates: SQL conditions over the rows of a table.
//!
//! Most predicates are columns compared with values, joined by AND. [`parse`] reads these in a microsecond,
//! where a SQL parser and planner take a hundred, so that they can be evaluated without Lance. [`check`] proves
//! that any other predicate is SQL over the columns of the table.

mod check;
mod parse;

pub use check::{checked, checked_where_planned, computed_expressions, planned_where_long};
pub use parse::comparisons;

/// A column compared with values.
#[derive(Debug, PartialEq, Eq)]
pub struct Comparison {
    pub column: String,
    pub is: Is,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Is {
    /// One of some values.
    OneOf(Vec<Value>),
    Compared(Operator, Value),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Not,
    Less,
    AtMost,
    More,
    AtLeast,
}

/// A value that a column is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Integer(i64),
    Text(String),
}

impl Is {
    pub fn values(&self) -> &[Value] {
        match self {
            Self::OneOf(values) => values,
            Self::Compared(_, value) => std::slice::from_ref(value),
        }
    }
}
