//! Writes the values of new columns fragment by fragment.
//!
//! Lance writes them for all rows of a table and discards all of them after a conflict with an insert. Here the next
//! attempt reuses written fragments, and writes only the new ones.

use std::collections::HashMap;
use std::sync::Arc;

use lance::Dataset;
use lance::dataset::NewColumnTransform;
use lance::dataset::transaction::{Operation, TransactionBuilder};
use lance_core::datatypes::Schema;
use lance_table::format::Fragment;
use tokio::sync::Mutex;

use super::write::commit_to;
use crate::error::{Error, Result};
use crate::schema::expression::Expression;

/// Fragments with written new columns that no version references yet.
#[derive(Default)]
pub(super) struct FragmentColumns(Mutex<Written>);

#[derive(Default)]
struct Written {
    /// The schema for which they were written, and the highest field id: the new ids follow it.
    schema: Option<(Schema, i32)>,
    /// By fragment id: the fragment before, and with the new columns.
    fragments: HashMap<u64, (Fragment, Fragment)>,
    /// The schema of the table with the new columns.
    with_new: Option<Schema>,
}

impl FragmentColumns {
    /// Adds columns that SQL expressions fill to a version, and commits it. `batch`: rows per batch.
    pub(super) async fn add(
        &self,
        version: Arc<Dataset>,
        expressions: Vec<(String, Expression)>,
        batch: Option<u32>,
    ) -> Result<Dataset> {
        let sql = |(name, value): (String, Expression)| (name, value.sql().to_string());
        let expressions: Vec<_> = expressions.into_iter().map(sql).collect();
        let mut written = self.0.lock().await;
        written.begin(&version);
        let mut fragments = Vec::new();
        for fragment in version.get_fragments() {
            let before = fragment.metadata();
            if let Some((was, is)) = written.fragments.get(&before.id)
                && was == before
            {
                fragments.push(is.clone());
                continue;
            }
            let transform = NewColumnTransform::SqlExpressions(expressions.clone());
            let (with_columns, schema) = fragment
                .add_columns(transform, None, batch)
                .await
                .map_err(Error::of_input)?;
            let entry = (before.clone(), with_columns.clone());
            written.fragments.insert(before.id, entry);
            written.with_new = Some(schema);
            fragments.push(with_columns);
        }
        let Some(schema) = written.with_new.clone() else {
            return add_to_empty(&version, expressions).await;
        };
        let operation = Operation::Merge {
            preserves_nullability: adds_nullable(version.schema(), &schema),
            fragments,
            schema,
        };
        let transaction = TransactionBuilder::new(version.version_id(), operation).build();
        let committed = commit_to(version).execute(transaction).await;
        committed.map_err(Error::of_input)
    }
}

impl Written {
    /// Discards what was written for another schema than that of a version.
    fn begin(&mut self, version: &Dataset) {
        let now = (version.schema().clone(), version.manifest().max_field_id());
        if self.schema.as_ref() != Some(&now) {
            *self = Self {
                schema: Some(now),
                ..Self::default()
            };
        }
    }
}

/// Adds the columns to a table without fragments, which needs no files.
async fn add_to_empty(version: &Dataset, expressions: Vec<(String, String)>) -> Result<Dataset> {
    let mut dataset = version.clone();
    let transform = NewColumnTransform::SqlExpressions(expressions);
    dataset
        .add_columns(transform, None, None)
        .await
        .map_err(Error::of_input)?;
    Ok(dataset)
}

/// Whether rows of the previous schema are valid under the new one.
fn adds_nullable(before: &Schema, after: &Schema) -> bool {
    let mut added = after
        .fields
        .iter()
        .filter(|field| before.field_by_id(field.id).is_none());
    added.all(|field| field.nullable)
}
