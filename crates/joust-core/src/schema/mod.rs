//! The schema of a table, and SQL over it.

mod arguments;
pub(crate) mod columns;
mod evaluation;
pub(crate) mod expression;
mod function_column;
pub(crate) mod predicate;
mod row_filter;
mod total;
pub(crate) mod vector_column;
mod view_definition;

pub(crate) use arguments::{Arguments, struct_field};
pub(crate) use evaluation::Evaluation;
pub use evaluation::takes_long;
pub(crate) use function_column::{
    FunctionColumn, backfills_itself, declares_same_functions, function_entries, is_sha256,
    without_functions,
};
pub use row_filter::RowFilter;
pub use view_definition::{AutoRefresh, NamedTable, ViewDefinition, ViewFunction};
pub(crate) use view_definition::{
    VIEW_PREFIX, check_not_view, has_view_keys_of, without_definition,
};
