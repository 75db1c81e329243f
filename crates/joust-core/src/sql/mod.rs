//! SQL over named tables: statements of clients, and the parts that views share with them.
//!
//! [`statement`] parses the SQL and only accepts a single query over named tables. [`limits`] checks its size and
//! [`ignored`] its clauses. [`names`] resolves its names. [`ambiguous`] refuses those that DataFusion would confuse, and
//! [`subqueries`], [`correlated`] and [`keys`] the plans that it would evaluate wrongly; [`barriers`] change a plan, with
//! [`nullable`] and [`min_max`], where its optimizer would change the result. [`placeholders`] and [`parameters`]
//! substitute `$1`; [`unbound`] is a query whose values are not known yet. [`session`] runs it in bounded memory, with the
//! [`rules`] of the optimizer, over a [`source`] for each of its [`tables`], or over the catalog ([`information`]);
//! [`registration`] gives each a place in the session. If the caller has a row filter, it runs over the [`visible_rows`]
//! of a source. [`merge_join`] runs it again if its joins do not fit. [`thread`] runs it outside of the engine's threads.
//! [`run`] does all of it for one request, and [`written`] for the rows that a change writes; [`bound_rows`] are several
//! rows of parameters. The [`rows`] have [`plain`] types, and [`output`] encodes them. [`search`] has the searches of a
//! statement. [`change`] describes statements that change something; the server does them. [`functions`] lists what a
//! statement may call.

mod ambiguous;
mod barriers;
mod bound;
mod bound_rows;
mod change;
mod correlated;
mod functions;
mod ignored;
mod information;
mod keys;
mod limits;
mod merge_join;
pub(crate) mod min_max;
mod names;
mod nullable;
mod output;
mod parameters;
mod placeholders;
mod plain;
mod refused;
#[cfg(test)]
mod refused_answers_tests;
mod registration;
mod request;
mod result;
mod rows;
mod rules;
mod run;
mod search;
pub mod session;
mod source;
mod statement;
mod subqueries;
mod tables;
mod thread;
mod unbound;
mod visible_rows;
mod written;
#[cfg(test)]
mod wrong_answers_tests;

pub use bound::request_body;
pub use bound_rows::{BoundRows, takes_rows};
pub use functions::{Functions, functions};
pub use information::{Information, Listed, Listing, Opener};
pub use names::At;
pub use output::Output;
pub(crate) use plain::{plain, plain_schema, plain_type};
pub use request::{ReadStatement, read_statement};
pub use result::{Column, Values, answer as result, rows as result_rows, schema as columns_schema};
pub use rows::{Description, Rows};
pub use run::{Resources, Source, describe, rows, run};
pub(crate) use source::{ScanSize, SourceTable};
pub use statement::{Statement, TableName};
pub use written::{describe_change, written_rows};
