//! Views whose rows a Python function makes: several rows of each row of the query, such as the chunks of a text.
//!
//! [`schema`] defines the columns of such a view. [`rows`] makes its rows from those of the query and the results of the
//! function, which [`expander`] calls. [`run`] does so for one fragment of the source after the other, or
//! [leaves the calls to workers](remote_calls), and [`units`] keeps what is done for the next run of the job.

mod expander;
mod remote_calls;
mod rows;
mod run;
pub(super) mod schema;
mod units;

pub(super) use units::Failures;

use arrow::datatypes::Schema;

use super::shape::Shape;
use crate::error::{Code, Error, Result};
use crate::schema::ViewFunction;

/// The column of a view with the id of the source's row.
pub(super) const SOURCE_ROW_ID: &str = "__source_row_id";
/// The column of a view with the position of a row among those of the same row of the source.
const CHILD_INDEX: &str = "__child_index";

/// Whether the function of a view can make its rows from those of a query with this result.
pub(super) fn check_query(shape: &Shape, query: &Schema, function: &ViewFunction) -> Result<()> {
    let reason = match shape {
        Shape::RowWise | Shape::Expanded => None,
        Shape::Whole(reason) => Some(*reason),
        Shape::Groups(_) => Some("the query has aggregates"),
    };
    if let Some(reason) = reason {
        return Err(Error::invalid(format!(
            "a function makes rows of each row of one table, but {reason}: give the view a query with \
             only columns, expressions and WHERE over one table"
        )));
    }
    for name in &function.inherited {
        if query.index_of(name).is_err() {
            return Err(Error::new(
                Code::TableSchemaValidationError,
                format!(
                    "the query no longer gives the column `{name}` of the view: drop the view and \
                     create it again"
                ),
            ));
        }
    }
    schema::arguments(query, &function.inputs).map(drop)
}

/// The function of a view to create.
pub struct NewViewFunction {
    pub name: String,
    /// As its client declared it.
    pub version: Option<String>,
    /// The function as its client sent it.
    pub payload: Vec<u8>,
    /// SHA-256 of the payload, hex.
    pub sha256: String,
    /// Paths of the columns of the query that are its arguments, in their order.
    pub inputs: Vec<String>,
    /// The columns of its rows, with their types as JSON. Empty if the view has a declared schema.
    pub outputs: Vec<(String, String)>,
    /// The columns of the query that the view has, too; all when absent. A declared schema names them.
    pub inherited: Option<Vec<String>>,
}
