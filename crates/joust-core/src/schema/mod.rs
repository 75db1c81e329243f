//! SQL and types, and what expressions take that are evaluated over a table's rows.

mod evaluation;
pub(crate) mod expression;

pub(crate) use evaluation::Evaluation;
