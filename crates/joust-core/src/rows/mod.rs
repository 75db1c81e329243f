//! The columns of rows that a search has found.
//!
//! Finding the best rows takes less time than reading ten of them from a table does: Lance plans,
//! looks up metadata and decodes pages for each reading, whereas taking ten rows from arrays in memory
//! costs a microsecond or two. So columns that answers keep asking for stay here decoded ([`decoded`]),
//! and of columns that are too large for it the rows that were read lately ([`recent`]). [`addresses`]
//! tells where a row lies, [`keys`], [`condition`] and [`first`] which rows a condition wants; [`reader`] puts
//! the three together, and [`output`] makes of its columns what a query returns.

mod addresses;
mod assemble;
mod caches;
mod column;
mod computed;
mod condition;
mod decoded;
mod filtered;
mod first;
mod kept;
mod keys;
mod live;
mod load;
mod output;
mod passages;
mod ranked;
mod reader;
mod recent;
mod stored;

pub(crate) use caches::RowCaches;
pub(crate) use column::Column;
pub(crate) use condition::{Is, parse as tests};
pub(crate) use decoded::Reading;
pub(crate) use filtered::filtered;
pub(crate) use first::first_rows;
pub(crate) use keys::{Value, can_have, rows_with};
pub(crate) use live::{Fragment, Live};
pub(crate) use load::{can_be_kept, identity, width};
pub(crate) use output::{Key, Output, Own, QUERY_INDEX};
pub(crate) use ranked::Ranked;
pub(crate) use reader::Reader;
