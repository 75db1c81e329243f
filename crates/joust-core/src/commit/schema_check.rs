//! The check that refuses rows which were written for an older schema.
//!
//! A data file refers to columns by field id. When the last column is dropped, the next column that is added
//! gets its id and would show its values; a column whose type changed has another id, and shows nulls for rows
//! that were written before. Lance refuses such rows when the schema change wrote values, but not when it
//! changed the schema alone. joust compares each commit with the versions that its rows were written for,
//! inside the commit, where the version that the commit follows is known.

use std::error::Error;
use std::fmt::{Display, Formatter};
use std::sync::Arc;

use lance::Dataset;
use lance_core::datatypes::{Field, Schema};
use lance_table::io::commit::CommitError;

/// Whether a commit failed because its rows were written for other columns. Nothing was committed.
pub(crate) fn columns_changed(error: &lance::Error) -> bool {
    matches!(error, lance::Error::External { source } if source.is::<ColumnsChanged>())
}

#[derive(Debug)]
struct ColumnsChanged;

impl Display for ColumnsChanged {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("the table's columns have changed since the rows were written")
    }
}

impl Error for ColumnsChanged {}

/// Refuses rows that were written for versions whose columns are others than `now`.
pub(super) fn check(written_for: &[Arc<Dataset>], now: &Schema) -> Result<(), CommitError> {
    let mut versions = written_for.iter();
    if versions.all(|version| fit(version.schema(), now)) {
        return Ok(());
    }
    let changed: Box<dyn Error + Send + Sync> = Box::new(ColumnsChanged);
    Err(CommitError::OtherError(changed.into()))
}

/// Whether rows of one schema fit another one: columns may have been added or dropped.
fn fit(written: &Schema, now: &Schema) -> bool {
    let mut fields = written.fields_pre_order();
    fields.all(|field| match now.field_by_id(field.id) {
        Some(own) => own.name == field.name && own.logical_type == field.logical_type,
        None => !has_successor(field, written, now),
    })
}

/// Whether a dropped column was replaced by another one of its name.
fn has_successor(field: &Field, written: &Schema, now: &Schema) -> bool {
    let path = written.field_path(field.id);
    path.is_ok_and(|path| now.field(&path).is_some())
}

#[cfg(test)]
#[path = "schema_check_tests.rs"]
mod tests;
