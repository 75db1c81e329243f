//! The columns of a search's rows, in the form in which a statement reads them from the table.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow::compute::{cast, concat_batches, take_record_batch};
use arrow::datatypes::{Field, SchemaRef, UInt64Type};
use datafusion::logical_expr::{col, lit};
use futures::TryStreamExt;
use lance::Dataset;
use lance::dataset::ROW_ID;
use lance_arrow::json::has_json_fields;
use lance_core::datatypes::{BlobHandling, Field as LanceField, format_field_path};
use lance_datafusion::exec::{LanceExecutionOptions, execute_plan};

use crate::cache::Reader;
use crate::error::{Code, Error, Result};
use crate::table::Table;

/// Reads columns of rows.
pub struct Fetch {
    table: Table,
    dataset: Arc<Dataset>,
    /// The columns that it returns.
    schema: SchemaRef,
    sources: Vec<Source>,
    /// Columns that the caches may have: internal names and paths.
    cached: Vec<(String, String)>,
    /// Blobs and JSON, which a scan reads: the caches' reader returns their addresses or texts.
    stored: Vec<String>,
}

enum Source {
    Cached(usize),
    Stored(usize),
    /// A result of the search.
    Result,
}

impl Fetch {
    /// `is_result`: whether a column of the schema is a result of the search.
    pub fn new(
        table: Table,
        dataset: Arc<Dataset>,
        schema: &SchemaRef,
        is_result: impl Fn(&str) -> bool,
    ) -> Self {
        let mut fetch = Self {
            table,
            sources: Vec::with_capacity(schema.fields().len()),
            cached: Vec::new(),
            stored: Vec::new(),
            dataset,
            schema: schema.clone(),
        };
        for field in schema.fields() {
            let source = match field.name().as_str() {
                name if is_result(name) => Source::Result,
                name if fetch.is_stored(field) => {
                    fetch.stored.push(name.to_string());
                    Source::Stored(fetch.stored.len() - 1)
                }
                name => {
                    let path = format_field_path(&[name]);
                    fetch.cached.push((name.to_string(), path));
                    Source::Cached(fetch.cached.len() - 1)
                }
            };
            fetch.sources.push(source);
        }
        fetch
    }

    fn is_stored(&self, field: &Field) -> bool {
        fn has_blobs(field: &LanceField) -> bool {
            field.is_blob() || field.children.iter().any(has_blobs)
        }
        let mut fields = self.dataset.schema().fields.iter();
        has_json_fields(field) || fields.any(|own| own.name == *field.name() && has_blobs(own))
    }

    /// The columns of rows that the search found: `found` has their ids and results.
    pub async fn rows(&self, found: &RecordBatch) -> Result<RecordBatch> {
        let ids = found.column_by_name(ROW_ID);
        let ids = ids.and_then(|ids| ids.as_primitive_opt::<UInt64Type>());
        let ids = ids.ok_or_else(|| Error::new(Code::Internal, "a search returned no row ids"))?;
        let caches = self.table.caches()?.rows();
        let reader = Reader::new(self.dataset.clone(), self.cached.clone());
        let cached = reader.read(ids.values(), caches).await?;
        let stored = match self.stored.is_empty() || ids.is_empty() {
            true => None,
            false => Some(Box::pin(self.read(ids)).await?),
        };
        let columns = self.sources.iter().zip(self.schema.fields());
        let columns = columns.map(|(source, field)| {
            let column: Option<ArrayRef> = match source {
                Source::Cached(index) => cached.get(*index).cloned(),
                Source::Stored(index) => match &stored {
                    Some(stored) => stored.column_by_name(&self.stored[*index]).cloned(),
                    None => Some(arrow::array::new_empty_array(field.data_type())),
                },
                Source::Result => found.column_by_name(field.name()).cloned(),
            };
            let column = column.ok_or_else(|| {
                Error::new(Code::Internal, "a column of a search's rows is missing")
            })?;
            match column.data_type() == field.data_type() {
                true => Ok(column),
                false => Ok(cast(&column, field.data_type())?),
            }
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(found.num_rows()));
        Ok(RecordBatch::try_new_with_options(
            self.schema.clone(),
            columns,
            &options,
        )?)
    }

    /// Reads the stored columns of rows, in their order.
    async fn read(&self, ids: &UInt64Array) -> Result<RecordBatch> {
        let mut scan = self.dataset.scan();
        scan.blob_handling(BlobHandling::AllBinary);
        let paths: Vec<String> = self
            .stored
            .iter()
            .map(|name| format_field_path(&[name.as_str()]))
            .collect();
        scan.project(&paths)?;
        scan.with_row_id();
        let wanted = ids.values().iter().map(|id| lit(*id)).collect();
        scan.filter_expr(col(ROW_ID).in_list(wanted, false));
        let plan = scan.create_plan().await?;
        let rows = execute_plan(plan, LanceExecutionOptions::default())?;
        let schema = rows.schema();
        let rows: Vec<RecordBatch> = rows.try_collect().await?;
        let rows = concat_batches(&schema, &rows)?;
        let read = rows.column_by_name(ROW_ID);
        let read = read.and_then(|read| read.as_primitive_opt::<UInt64Type>());
        let places: HashMap<u64, u64> = match read {
            Some(read) => read.values().iter().copied().zip(0..).collect(),
            None => HashMap::new(),
        };
        let order = ids.values().iter().map(|id| places.get(id).copied());
        let order = order.collect::<Option<Vec<u64>>>().ok_or_else(|| {
            Error::new(Code::Internal, "a row that was found is not in the table")
        })?;
        Ok(take_record_batch(&rows, &UInt64Array::from(order))?)
    }
}
