//! A version of a table as a DataFusion table provider.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use lance::Dataset;
use lance_core::datatypes::BlobHandling;

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
        }
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
        if let Some(projection) = projection {
            let columns: Vec<&str> = projection
                .iter()
                .map(|at| self.schema.field(*at).name().as_str())
                .collect();
            scan.project(&columns)?;
        }
        match condition {
            Condition::All(filters) => {
                if let Some(filter) = filters.iter().cloned().reduce(Expr::and) {
                    scan.filter_expr(filter);
                }
            }
            Condition::Sql(filter) => {
                scan.filter(filter)?;
            }
        }
        scan.limit(limit.map(|limit| limit as i64), None)?;
        scan.create_plan().await.map_err(DataFusionError::from)
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
