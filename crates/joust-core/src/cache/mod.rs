//! Caches of rows and columns, and reading rows through them.
//!
//! Finding the best rows takes less time than reading ten of them from a table: for each reading Lance plans,
//! looks up metadata and decodes pages, whereas taking ten rows from arrays in memory costs a microsecond or
//! two. So columns that answers keep asking for stay here decoded ([`decoded_columns`]), and of columns that are
//! too large for it the rows that were read lately ([`row_cache`]). [`row_addresses`] tells where a row lies;
//! [`sorted_lookup`], [`predicate`] and [`filter_prefix`] find the rows that satisfy a predicate; [`reader`] puts
//! these together.

mod caches;
mod column;
mod column_store;
mod decoded_columns;
mod filter_prefix;
mod filtered;
mod load_column;
mod predicate;
mod reader;
mod row_addresses;
mod row_cache;
mod row_liveness;
mod sorted_lookup;
mod stored_rows;

pub(crate) use caches::RowCaches;
pub(crate) use column::Column;
pub(crate) use decoded_columns::Reading;
pub(crate) use filter_prefix::first_rows;
pub(crate) use filtered::filtered;
pub(crate) use load_column::{can_be_kept, identity, width};
pub(crate) use reader::Reader;
pub(crate) use row_liveness::{Fragment, RowLiveness};
pub(crate) use sorted_lookup::{can_have, rows_with};
