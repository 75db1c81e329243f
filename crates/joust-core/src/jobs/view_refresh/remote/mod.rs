//! Rows of a view that workers outside of this process compute.
//!
//! [`query`] writes the query of a view over one table for workers: in the SQL of Lance ([`lance_sql`]), with which they
//! scan a fragment, or in that of DataFusion over the scanned rows ([`row_sql`]). [`fragments`] has the order, with a task
//! for each fragment of the source, and checks what workers hand over. [`rows`] leaves the rows of a row-wise query to
//! workers; the [refresh of a view with a function](super::expansion) leaves the calls of its function to them. [`whole`]
//! leaves any other query to one worker, if it means the same to its DataFusion ([`whole_sql`]).

mod expressions;
mod fragments;
mod lance_sql;
mod plain_columns;
mod query;
mod row_sql;
mod rows;
mod whole;
mod whole_sql;
mod worker_datafusion;

pub use fragments::{FragmentRows, RemoteFragments, RemoteFunction};
pub use query::{WorkerQuery, worker_query};
