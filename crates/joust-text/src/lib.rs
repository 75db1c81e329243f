//! Full-text search over rows of a table, on tantivy.
//!
//! This crate knows texts, row ids and scores; it knows nothing of tables, versions or storage. Its
//! parts, in the order in which a text meets them:
//!
//! - [`analysis`]: how a text becomes terms;
//! - [`segment`]: an immutable index of some rows, on disk or in memory;
//! - [`view`]: the segments that make up one column at one moment, with the rows that are visible;
//! - [`query`]: what a client asks, in any wire form;
//! - [`search`]: the best rows of a view for a query;
//! - [`highlight`]: the passages of a text that a query found.
//!
//! A score is BM25 (k1 = 1.2, b = 0.75) over the rows that are visible in the view, and nothing else:
//! rows that were deleted and are still in a segment count for nothing, and how rows are spread over
//! segments makes no difference. The length of a text is kept in one byte, as Lucene does.

pub mod analysis;
mod error;
pub mod highlight;
pub mod object;
pub mod query;
pub mod search;
pub mod segment;
pub mod view;

pub use error::{Error, Result};
