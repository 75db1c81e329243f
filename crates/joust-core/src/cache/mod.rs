//! Caches of rows and columns, and reading rows through them.
//!
//! A search finds the best rows in less time than Lance needs to read ten of them. For each read, Lance plans, looks up
//! metadata and decodes pages. Taking ten rows from arrays in memory costs a microsecond or two. So the engine caches
//! decoded columns that answers read often ([`decoded_columns`]). For columns that are too large, it caches the rows
//! that were read recently ([`row_cache`]). [`row_addresses`] maps a row id to the place of the row. [`sorted_lookup`],
//! [`predicate`] and [`filter_prefix`] find the rows that satisfy a predicate. [`reader`] combines these caches.
//!
//! # All caches of the engine
//!
//! `rest` is the [budget](crate::memory::Budget) without the program. A *version* is a
//! [`VersionKey`](crate::version_key::VersionKey): one version of one branch of one table, with its commit time.
//!
//! | cache | code | share | key | not used after |
//! |---|---|---|---|---|
//! | index data (Lance) | `storage/sessions.rs` | 1/4 of `rest`, `--index-cache` | Lance's, salted for each open table | the table is opened from nothing |
//! | metadata (Lance) | `storage/sessions.rs` | 1/16 of `rest`, `--metadata-cache` | as above | as above |
//! | *text* | `text/text_caches.rs` | 1/8 of `rest` | | |
//! | text index entries | | 3 % of text | version | any commit |
//! | open segments | | 55 % of text | id of the segment | none: a segment never changes |
//! | segments with their visible rows | | 14 % of text | segment, its fragments with their deletions | a deletion in its fragments, or another set of fragments |
//! | tails: rows in no segment | `text/tail.rs` | 14 % of text | field id, JSON keys, analysis, fragments with their deletions | as above |
//! | views of a column | `text/view.rs` | 7 % of text | version, column, index | any commit |
//! | rows that a filter admits to a text search | `text/search.rs`, `joust-text/src/view.rs` | 7 % of text | the view, filter | any commit |
//! | *rows* | `cache/row_caches.rs` | 1/8 of `rest`, `--row-cache` | | |
//! | column store | [`column_store`] | 50 % of rows | table, field id, data type; in it the files of a fragment | other files of a fragment: its values were replaced |
//! | row cache | [`row_cache`] | 22 % of rows | version, columns | any commit |
//! | sorted lookups | [`sorted_lookup`] | 6 % of rows | address of an array of the column store, which the entry holds | the fragment has another array |
//! | matching rows | [`filtered`](filtered()) | 6 % of rows | version, filter | any commit |
//! | filter prefixes | [`filter_prefix`] | 2 % of rows | version, filter | any commit |
//! | row addresses | [`row_addresses`] | 2 % of rows | version | any commit |
//! | row liveness | [`row_liveness`] | 1 % of rows | version | any commit |
//! | live rows of a fragment | [`row_liveness`] | 4 % of rows | table, files and deletions of the fragment | a deletion in the fragment, or other files |
//! | prefilter masks | `vector/vector_caches.rs` | 6 % of rows | version, filter | any commit |
//! | opened vector indexes | `vector/vector_caches.rs` | 1 % of rows | version, field id | any commit |
//! | *small entries* | | a number of entries, outside of the budget | | |
//! | open table handles | `table/tables.rs` | 10,000 entries; beyond 11,000 the least recently used are closed | location, branch, storage options | the table is dropped, or the caller names another table incarnation at the location; a handle itself checks for newer versions |
//! | table incarnations | `table/tables.rs` | 100,000 entries, then all are dropped | location | the table is dropped, or the caller names another table incarnation at the location |
//! | branch incarnations | `table/tables.rs`, `commit/branch_incarnation.rs` | weak references; handles, datasets and commits in use hold the entries | location; in it the name of the branch | the branch is deleted, or another branch has its name |
//! | parsed expressions | `schema/expression/known.rs` | 1,000 entries of at most 1,000 bytes of text, then all are dropped | SQL text | none: the result depends on no table |
//! | schemas of Arrow streams | `ipc/known_schemas.rs` | 16 entries, each with at most 64 KiB of message and 256 KiB of schema; the least recently used is evicted | bytes of the schema message | none: equal bytes have equal schemas |
//! | synced directories | `storage/fsync.rs` | 100,000 entries, then all are dropped | identity of the directory | a new directory of that name has another identity |
//! | synced blob files | `storage/fsync_blobs.rs` (`KnownBlobs`) | 500,000 entries, about 30 MB, then all are dropped | device and inode | the file has another creation time or size |
//!
//! No commit removes an entry of a cache with a share of the budget: a lookup for the new version has another key, and
//! the entries of former versions are evicted when they are the least recently used. An evicted entry is computed
//! again. Filters whose value may change between two evaluations (`now()`) are in no cache of rows.

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
mod row_caches;
mod row_liveness;
mod sorted_lookup;
mod stored_rows;

pub(crate) use column::Column;
pub(crate) use decoded_columns::Reading;
pub(crate) use filter_prefix::first_rows;
pub(crate) use filtered::filtered;
pub(crate) use load_column::{can_be_cached, identity, width};
pub(crate) use reader::Reader;
pub(crate) use row_caches::RowCaches;
pub(crate) use row_liveness::{Fragment, RowLiveness};
pub(crate) use sorted_lookup::{can_have, rows_with};
