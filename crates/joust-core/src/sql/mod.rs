//! SQL over tables that are given by name: statements of clients, and what views share with them.
//!
//! [`statement`] reads the SQL and lets nothing but one query over named tables through: [`limits`] says
//! what that may ask for, [`names`] what its names stand for, [`parameters`] puts values in the place of
//! `$1`. [`session`] is where it runs in bounded memory, over a [`source`] for each table, or over what the
//! catalog knows ([`information`]); [`thread`] keeps its work off the engine's threads. [`run`] does all of it for one request, and [`output`] writes the rows.

mod information;
mod limits;
mod names;
mod output;
mod parameters;
mod refused;
mod request;
mod run;
pub mod session;
mod source;
mod statement;
mod thread;

pub use information::{Information, Listed, Listing, Opener};
pub use names::At;
pub use output::Output;
pub use request::tables;
pub use run::{Resources, Source, run};
pub(crate) use source::{ScanSize, SourceTable};
pub use statement::{Statement, TableName};
