//! Columns of rows as they are stored, where some are JSON.
//!
//! Lance's own reading of rows prints JSON at once, by recursion: see [`json`](crate::json).

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use arrow::compute::concat_batches;
use arrow::datatypes::Schema;
use futures::TryStreamExt;
use lance::Dataset;
use lance::dataset::scanner::DatasetRecordBatchStream;
use lance::io::RecordBatchStream;
use lance::io::exec::TakeExec;
use lance_arrow::ARROW_EXT_NAME_KEY;
use lance_arrow::json::JSON_EXT_NAME;
use lance_core::ROW_ID_FIELD;
use lance_core::datatypes::{Field, OnMissing, format_field_path};
use lance_datafusion::exec::{LanceExecutionOptions, OneShotExec, execute_plan};

use crate::error::{Error, Result};
use crate::json::guarded;

/// How rows are read whose columns have JSON.
pub enum WithJson<'a> {
    /// Nothing of it is JSON: as ever.
    None,
    /// Whole columns of the table: [`take`].
    Columns(Vec<&'a Field>),
    /// Expressions, or parts of columns: [`take`] these first, which proves that Lance can print them.
    Checks(Vec<&'a Field>),
}

impl<'a> WithJson<'a> {
    /// `columns`: paths and SQL.
    pub fn of(dataset: &'a Dataset, columns: &[(String, String)]) -> Self {
        let schema = dataset.schema();
        let json: Vec<&Field> = schema
            .fields
            .iter()
            .filter(|field| is_json(field))
            .collect();
        if json.is_empty() {
            return Self::None;
        }
        let whole = columns.iter().map(|(_, sql)| {
            let field = schema.field(sql).filter(|field| !field.is_blob())?;
            schema.fields.iter().find(|own| own.id == field.id)
        });
        match whole.collect::<Option<Vec<&Field>>>() {
            Some(whole) if whole.iter().any(|field| is_json(field)) => Self::Columns(whole),
            Some(_) => Self::None,
            None => Self::Checks(json),
        }
    }
}

fn is_json(field: &Field) -> bool {
    let name = field.metadata.get(ARROW_EXT_NAME_KEY);
    name.is_some_and(|name| name == JSON_EXT_NAME) || field.children.iter().any(is_json)
}

/// Some columns of the table in some rows, JSON as text. Code 19 when it can't be printed.
pub async fn take(dataset: &Arc<Dataset>, rows: &[u64], fields: &[&Field]) -> Result<RecordBatch> {
    let paths = fields
        .iter()
        .map(|field| format_field_path(&[field.name.as_str()]));
    let projection = dataset
        .empty_projection()
        .union_columns(paths, OnMissing::Error)?;
    let ids: ArrayRef = Arc::new(UInt64Array::from(rows.to_vec()));
    let ids = RecordBatch::try_new(Arc::new(Schema::new(vec![ROW_ID_FIELD.clone()])), vec![ids])?;
    let input = Arc::new(OneShotExec::from_batch(ids));
    let plan = TakeExec::try_new(dataset.clone(), input, projection)?
        .ok_or_else(|| Error::invalid("no columns are read"))?;
    let stored = execute_plan(Arc::new(plan), LanceExecutionOptions::default())?;
    let taken = DatasetRecordBatchStream::new(guarded(stored));
    let schema = taken.schema();
    let taken: Vec<RecordBatch> = taken.try_collect().await?;
    let taken = concat_batches(&schema, &taken)?;
    let places = fields.iter().map(|field| schema.index_of(&field.name));
    Ok(taken.project(&places.collect::<std::result::Result<Vec<_>, _>>()?)?)
}
