//! Conditions that are read and evaluated without Lance: columns compared with values, joined by AND.
//!
//! Such a condition is what most filters are, and Lance takes milliseconds for one that it has not seen:
//! it parses and plans the SQL, and makes row ids of all that the columns' indexes find before the first
//! row is read. Here [`parse`] reads it in a microsecond, and [`evaluate`] compares columns that are in
//! memory from the first row on, until there are enough. Whatever is not plainly of this form, or not in
//! memory, is left to Lance.

mod evaluate;
mod parse;

pub use evaluate::Evaluation;
pub use parse::tests as parse;

use super::Value;

/// What a column has to be.
#[derive(Debug, PartialEq, Eq)]
pub struct Test {
    pub column: String,
    pub is: Is,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Is {
    /// One of some values.
    OneOf(Vec<Value>),
    Compared(Comparison, Value),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Not,
    Less,
    AtMost,
    More,
    AtLeast,
}

impl Is {
    pub fn values(&self) -> &[Value] {
        match self {
            Self::OneOf(values) => values,
            Self::Compared(_, value) => std::slice::from_ref(value),
        }
    }
}
