//! What is known of SQL and types without any table.

pub(crate) mod expression;
