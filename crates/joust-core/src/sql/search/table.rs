//! A search as a DataFusion table.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::{DataFusionError, Result as PlanResult};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
};
use futures::{StreamExt, TryStreamExt, stream};

use super::fetch::Fetch;
use super::open::OpenSearch;
use crate::error::{Error, Result};
use crate::query::RowSearch;
use crate::table::rows_in;

/// Limits of a batch of rows.
const BATCH_BYTES: usize = 4 << 20;
const BATCH_ROWS: usize = 1_024;

/// The rows that a search finds.
pub struct SearchTable(Arc<OpenSearch>);

impl SearchTable {
    pub fn new(search: Arc<OpenSearch>) -> Self {
        Self(search)
    }
}

impl fmt::Debug for SearchTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.function())
    }
}

#[async_trait]
impl TableProvider for SearchTable {
    fn schema(&self) -> SchemaRef {
        self.0.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        _session: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let schema = match projection {
            Some(projection) => Arc::new(self.0.schema.project(projection)?),
            None => self.0.schema.clone(),
        };
        Ok(Arc::new(SearchExec::new(self.0.clone(), schema)))
    }

    /// None: a condition in the search changes which rows are found, and not every condition on its rows may do so. See
    /// [`prefilter`](super::prefilter).
    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> PlanResult<Vec<TableProviderFilterPushDown>> {
        Ok(vec![
            TableProviderFilterPushDown::Unsupported;
            filters.len()
        ])
    }
}

/// Runs a search, and reads the columns of its rows batch by batch.
struct SearchExec {
    search: Arc<OpenSearch>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
}

impl SearchExec {
    fn new(search: Arc<OpenSearch>, schema: SchemaRef) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema.clone()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self {
            search,
            schema,
            properties: Arc::new(properties),
        }
    }
}

impl fmt::Debug for SearchExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.search.operator())
    }
}

impl DisplayAs for SearchExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.search.operator())
    }
}

impl ExecutionPlan for SearchExec {
    fn name(&self) -> &'static str {
        "SearchExec"
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
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(
        &self,
        _partition: usize,
        _context: Arc<TaskContext>,
    ) -> PlanResult<SendableRecordBatchStream> {
        let search = self.search.clone();
        let fetch = Arc::new(Fetch::new(
            search.table.clone(),
            search.dataset.clone(),
            &self.schema,
            RowSearch::is_result(&search.rows),
        ));
        let most = rows_in(&search.dataset, BATCH_BYTES).min(BATCH_ROWS);
        let rows = stream::once(async move { search.rows.rows().await })
            .try_flatten()
            .map_ok(move |found| stream::iter(slices(&found, most)))
            .try_flatten()
            .and_then(move |found| {
                let fetch = fetch.clone();
                async move { fetch.rows(&found).await }
            });
        let rows = rows.map(|batch| batch.map_err(external));
        let schema = self.schema.clone();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}

/// Parts of at most `most` rows.
fn slices(batch: &RecordBatch, most: usize) -> Vec<Result<RecordBatch>> {
    let rows = batch.num_rows();
    let starts = (0..rows).step_by(most.max(1));
    starts
        .map(|start| Ok(batch.slice(start, most.min(rows - start))))
        .collect()
}

fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
