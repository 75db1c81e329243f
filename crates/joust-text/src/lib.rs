//! Full-text search over the rows of a table, based on tantivy.
//!
//! This crate handles texts, row ids and scores. It does not know tables, versions or storage. Its modules, in the
//! order in which a text passes through them:
//!
//! - [`analysis`]: turns a text into terms;
//! - [`segment`]: an immutable index of some rows, on disk or in memory;
//! - [`view`]: the segments of one column at one version, with the visible rows;
//! - [`query`]: the query of a client, decoded from any wire format;
//! - [`search`]: the top rows of a view for a query;
//! - [`highlight`]: the passages of a text that matched a query.
//!
//! The score is BM25 (k1 = 1.2, b = 0.75) over the rows that are visible in the view. Deleted rows that are still in a
//! segment do not influence it, and neither does the distribution of rows over segments. As in Lucene, one byte stores
//! the length of a text.

pub mod analysis;
mod error;
pub mod highlight;
pub mod object;
pub mod query;
pub mod search;
pub mod segment;
pub mod view;

pub use error::{Error, Result};
