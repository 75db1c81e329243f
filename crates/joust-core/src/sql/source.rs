//! A version of a table as a DataFusion table provider.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use lance::Dataset;
use lance_core::ROW_ID_FIELD;
use lance_core::datatypes::BlobHandling;

use crate::query::ChangedRows;

/// Memory limits of a scan.
#[derive(Debug, Clone, Copy)]
pub struct ScanSize {
    /// Read-ahead in bytes.
    pub read_ahead: usize,
    /// Rows of a batch; Lance's default when absent.
    pub batch: Option<usize>,
}

impl Default for ScanSize {
    fn default() -> Self {
        Self {
            read_ahead: 32 << 20,
            batch: None,
        }
    }
}

/// Unlike Lance's provider it bounds the read-ahead, and returns blobs as bytes.
#[derive(Debug)]
pub struct SourceTable {
    dataset: Arc<Dataset>,
    schema: SchemaRef,
    size: ScanSize,
    /// All rows when absent.
    changed: Option<ChangedRows>,
}

impl SourceTable {
    pub fn new(dataset: Arc<Dataset>, size: ScanSize) -> Self {
        let schema = dataset
            .full_projection()
            .with_blob_handling(BlobHandling::AllBinary)
            .to_bare_schema();
        Self {
            schema: Arc::new(Schema::from(&schema)),
            dataset,
            size,
            changed: None,
        }
    }

    /// The same with the column `_rowid`, the last one.
    pub fn with_row_ids(mut self) -> Self {
        let mut fields: Vec<_> = self.schema.fields().iter().cloned().collect();
        fields.push(Arc::new(ROW_ID_FIELD.clone()));
        let metadata = self.schema.metadata().clone();
        self.schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        self
    }

    /// The same with only these rows.
    pub fn with_changed(mut self, changed: Option<ChangedRows>) -> Self {
        self.changed = changed;
        self
    }

    /// The columns that it returns.
    pub fn into_schema(self) -> SchemaRef {
        self.schema
    }

    /// A scan of the rows that a condition admits.
    pub async fn plan(
        &self,
        projection: Option<&Vec<usize>>,
        condition: Condition<'_>,
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut scan = self.dataset.scan();
        scan.io_buffer_size(self.size.read_ahead as u64);
        if let Some(rows) = self.size.batch {
            scan.batch_size(rows);
        }
        scan.blob_handling(BlobHandling::AllBinary);
        let fields = self.schema.fields();
        let columns: Vec<&str> = match projection {
            Some(projection) => {
                let fields = projection.iter().map(|at| &fields[*at]);
                fields.map(|field| field.name().as_str()).collect()
            }
            None => fields.iter().map(|field| field.name().as_str()).collect(),
        };
        scan.project(&columns)?;
        let changed = self.changed.as_ref();
        if let Some(changed) = changed.filter(|changed| !changed.fragments.is_empty()) {
            scan.with_fragments(changed.fragments.clone());
        }
        match condition {
            Condition::All(filters) => {
                let filters = filters.iter().cloned();
                let changed = changed.and_then(ChangedRows::condition);
                if let Some(filter) = filters.chain(changed).reduce(Expr::and) {
                    scan.filter_expr(filter);
                }
            }
            Condition::Sql(filter) => {
                scan.filter(filter)?;
            }
        }
        scan.limit(limit.map(|limit| limit as i64), None)?;
        let plan = scan.create_plan().await?;
        Ok(match changed {
            Some(changed) if changed.fragments.is_empty() => {
                Arc::new(EmptyExec::new(plan.schema()))
            }
            _ => plan,
        })
    }
}

/// The condition of a scan.
pub enum Condition<'a> {
    /// All of these are true.
    All(&'a [Expr]),
    /// SQL for Lance.
    Sql(&'a str),
}

#[async_trait]
impl TableProvider for SourceTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.plan(projection, Condition::All(filters), limit).await
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Exact; filters.len()])
    }
}
