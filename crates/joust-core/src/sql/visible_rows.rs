//! A table for a caller that may use only some rows.
//!
//! The filter of the caller is a part of the scan, and the scan is a leaf of the plan: no rule of DataFusion's optimizer
//! sees a row that the filter hides, a number of such rows, or a filter that a condition of the statement could be
//! joined with. The conditions of the statement stay above the scan, because one that fails for a value could reveal
//! hidden rows by its failure. So they use no index.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, execute_stream,
};

use super::source::{Condition, SourceTable};

/// The rows of a version that one caller may use.
pub struct VisibleRows {
    source: SourceTable,
    /// SQL for Lance.
    filter: String,
}

impl VisibleRows {
    /// `filter`: a condition that was checked for this version.
    pub fn new(source: SourceTable, filter: String) -> Self {
        Self { source, filter }
    }
}

/// Without the filter.
impl fmt::Debug for VisibleRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VisibleRows")
    }
}

#[async_trait]
impl TableProvider for VisibleRows {
    fn schema(&self) -> SchemaRef {
        self.source.schema()
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
        if !filters.is_empty() {
            return Err(DataFusionError::Internal(
                "a condition was moved into a scan of visible rows".to_string(),
            ));
        }
        let condition = Condition::Sql(&self.filter);
        let rows = self.source.plan(projection, condition, limit).await?;
        Ok(Arc::new(VisibleRowsExec::new(rows)))
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![
            TableProviderFilterPushDown::Unsupported;
            filters.len()
        ])
    }
}

/// Runs a scan of visible rows. It hides the plan of the scan, with the filter and the statistics in it.
struct VisibleRowsExec {
    rows: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl VisibleRowsExec {
    fn new(rows: Arc<dyn ExecutionPlan>) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(rows.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self {
            rows,
            properties: Arc::new(properties),
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schema = self.rows.schema();
        let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
        write!(f, "VisibleRowsExec: projection=[{}]", names.join(", "))
    }
}

impl fmt::Debug for VisibleRowsExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

impl DisplayAs for VisibleRowsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

impl ExecutionPlan for VisibleRowsExec {
    fn name(&self) -> &'static str {
        "VisibleRowsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(
        &self,
        _partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        execute_stream(self.rows.clone(), context)
    }
}
