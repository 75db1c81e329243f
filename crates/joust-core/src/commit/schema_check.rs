//! Commits of rows that were written for other columns than the table has by now.
//!
//! A file names its columns by their numbers. When the last column is dropped its number goes to the next one
//! that is added, which then shows its values; a column of another type has another number, and shows nothing
//! of rows that were written before. Lance refuses rows behind such a change when it has written values, but
//! not when it was one of the schema alone. Here each commit is compared with the versions that its rows were
//! written for, once it is known which version it follows: others commit too.

use std::error::Error;
use std::fmt::{Display, Formatter};
use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use lance::Dataset;
use lance_core::datatypes::{Field, Schema};
use lance_table::io::commit::{CommitError, CommitHandler, ManifestLocation};

use super::layer::{Commit, CommitLayer};

tokio::task_local! {
    static WRITTEN_FOR: Vec<Arc<Dataset>>;
}

/// Does work whose commits add rows that were written for these versions.
pub(crate) fn written_for<W: Future>(
    versions: Vec<Arc<Dataset>>,
    work: W,
) -> impl Future<Output = W::Output> {
    WRITTEN_FOR.scope(versions, work)
}

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

/// Commits of another handler, but none of rows that do not fit.
#[derive(Debug)]
pub(super) struct SchemaCheck(pub Arc<dyn CommitHandler>);

#[async_trait]
impl CommitLayer for SchemaCheck {
    fn inner(&self) -> &dyn CommitHandler {
        self.0.as_ref()
    }

    async fn run(&self, commit: Commit<'_>) -> Result<ManifestLocation, CommitError> {
        let now = &commit.manifest.schema;
        let fits = WRITTEN_FOR.try_with(|versions| {
            let mut versions = versions.iter();
            versions.all(|version| fit(version.schema(), now))
        });
        if let Ok(false) = fits {
            let changed: Box<dyn Error + Send + Sync> = Box::new(ColumnsChanged);
            return Err(CommitError::OtherError(changed.into()));
        }
        commit.by(self.inner()).await
    }
}

/// Whether rows of one schema are rows of another: columns may have been added or dropped.
fn fit(written: &Schema, now: &Schema) -> bool {
    let mut fields = written.fields_pre_order();
    fields.all(|field| match now.field_by_id(field.id) {
        Some(own) => own.name == field.name && own.logical_type == field.logical_type,
        None => !has_successor(field, written, now),
    })
}

/// Whether a column that is gone has another one in its place.
fn has_successor(field: &Field, written: &Schema, now: &Schema) -> bool {
    let path = written.field_path(field.id);
    path.is_ok_and(|path| now.field(&path).is_some())
}

#[cfg(test)]
#[path = "schema_check_tests.rs"]
mod tests;
