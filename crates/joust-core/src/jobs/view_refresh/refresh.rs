//! Refresh a view: one commit replaces its rows by the current result of its query.
//!
//! The commit removes the old fragments and adds the new ones. Unlike an overwrite, this keeps the view's indexes. The
//! transaction properties of the same commit record the source versions.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::SessionContext;
use futures::StreamExt;
use lance::Dataset;
use lance::dataset::transaction::{Operation, Transaction, TransactionBuilder};
use lance::dataset::{CommitBuilder, InsertBuilder, WriteMode, WriteParams};
use lance_table::format::Fragment;
use serde_json::json;
use tracing::{Instrument, info_span};

use super::{Refresh, Refreshed, Source, ViewDefinition, query, schema};
use crate::commit::{Attempts, Policy, always_lost};
use crate::error::{Code, Error, Result};
use crate::ipc::BatchStream;
use crate::planning::planned;
use crate::sql::session;
use crate::table::{Table, Watch};
use crate::work::WorkContext;

/// Default and largest number of partitions of a query that run concurrently. With one partition there is no merge of
/// sorted partitions, which cannot spill.
const CONCURRENCY: usize = 1;
const MOST_CONCURRENCY: usize = 32;
/// Property of the commit's transaction with the source versions.
const SOURCES: &str = "joust.view.sources";

impl Table {
    /// Runs the view's query and commits its result. Dropping the future leaves the view unchanged, unless the commit
    /// is running.
    pub async fn refresh_view(&self, refresh: &Refresh, work: &WorkContext) -> Result<Refreshed> {
        let table = self.begun().await?;
        let view = table.newest().await?;
        let definition = ViewDefinition::of(&view)?;
        let mut sources = Vec::with_capacity(refresh.sources.len());
        for source in &refresh.sources {
            sources.push((source.name.clone(), source.open(self.tables()).await?));
        }
        let concurrency = refresh.concurrency.unwrap_or(CONCURRENCY);
        let memory = self
            .memory_for_job(0, |stage| work.report(stage, 0, None))
            .await;
        let context = session::new(
            concurrency.clamp(1, MOST_CONCURRENCY),
            (memory.bytes() / 2).min(session::MEMORY),
            self.tables().view_disk(),
        )?;
        let written = async {
            let fields = Schema::from(view.schema());
            let plan = {
                let (context, sources) = (context.clone(), sources.clone());
                let (sql, fields) = (definition.sql.clone(), fields.clone());
                planned(async move { plan(&context, &sql, &sources, &fields).await }).await?
            };
            let rows = execute_stream(plan, context.task_ctx()).map_err(Error::of_input)?;
            let rows = schema::conform(rows, Arc::new(fields));
            write(&view, rows, refresh.max_rows_per_fragment, work.clone()).await
        };
        let (fragments, rows_written) = self
            .tables()
            .view_deadline()
            .spend(written.instrument(info_span!("compute view")))
            .await?;
        work.set_committing(true);
        let source_versions: Vec<u64> = sources
            .iter()
            .map(|(_, dataset)| dataset.version_id())
            .collect();
        let properties = watermark(&refresh.sources, &source_versions);
        Ok(Refreshed {
            version: table.replace_fragments(fragments, properties).await?,
            rows_written,
            source_versions,
        })
    }

    /// Replaces all fragments by `fragments`.
    async fn replace_fragments(
        &self,
        fragments: Vec<Fragment>,
        properties: HashMap<String, String>,
    ) -> Result<u64> {
        let properties = Arc::new(properties);
        let mut attempts = Attempts::at(Policy::Rewrite);
        loop {
            let newest = self.newest().await?;
            let operation = Operation::Update {
                removed_fragment_ids: newest
                    .get_fragments()
                    .iter()
                    .map(|fragment| fragment.id() as u64)
                    .collect(),
                updated_fragments: Vec::new(),
                new_fragments: fragments.clone(),
                fields_modified: Vec::new(),
                compacted_sstables: Vec::new(),
                fields_for_preserving_frag_bitmap: Vec::new(),
                update_mode: None,
                inserted_rows_filter: None,
                updated_fragment_offsets: None,
            };
            let transaction: Transaction = TransactionBuilder::new(newest.version_id(), operation)
                .transaction_properties(Some(properties.clone()))
                .build();
            let commit = CommitBuilder::new(newest)
                .with_skip_auto_cleanup(true)
                .execute(transaction);
            match self.commit(Policy::Rewrite, commit).await {
                Ok(dataset) => return Ok(self.committed(dataset)),
                Err(error) => attempts
                    .lost(error.into())
                    .await
                    .map_err(always_lost("view"))?,
            }
        }
    }
}

/// The plan of a view's query; its columns must be those of the view.
async fn plan(
    context: &SessionContext,
    sql: &str,
    sources: &[(Vec<String>, Arc<Dataset>)],
    view: &Schema,
) -> Result<Arc<dyn ExecutionPlan>> {
    let plan = query::plan(context, sql, sources).await?;
    check_columns(plan.schema().as_arrow(), view)?;
    plan.create_physical_plan().await.map_err(Error::of_input)
}

/// Writes rows to files that no version references yet; returns the fragments and the number of rows.
async fn write(
    view: &Arc<Dataset>,
    rows: BatchStream,
    max_rows_per_fragment: Option<usize>,
    work: WorkContext,
) -> Result<(Vec<Fragment>, u64)> {
    let mut params = WriteParams {
        mode: WriteMode::Append,
        enable_stable_row_ids: view.manifest().uses_stable_row_ids(),
        session: Some(view.session()),
        skip_auto_cleanup: true,
        ..WriteParams::default()
    };
    if let Some(most) = max_rows_per_fragment {
        params.max_rows_per_file = most;
        params.max_rows_per_group = params.max_rows_per_group.min(most);
    }
    let watch = Arc::new(Watch::default());
    let counted = {
        let watch = watch.clone();
        let schema = rows.schema();
        let rows = watch.clone().over(rows).inspect(move |_| {
            work.report("refresh", watch.rows(), None);
        });
        datafusion::physical_plan::stream::RecordBatchStreamAdapter::new(schema, rows)
    };
    let rows: BatchStream = Box::pin(counted);
    let written = InsertBuilder::new(view.clone())
        .with_params(&params)
        .execute_uncommitted_stream(rows)
        .await
        .map_err(|error| watch.failure().unwrap_or_else(|| Error::of_input(error)))?;
    match written.operation {
        Operation::Append { fragments } => Ok((fragments, watch.rows())),
        _ => Err(Error::invalid("the view can't be written as it is")),
    }
}

/// A source may have lost a column that `*` included, or have a new one.
fn check_columns(result: &Schema, view: &Schema) -> Result<()> {
    let names = |schema: &Schema| -> Vec<String> {
        let fields = schema.fields().iter();
        fields.map(|field| field.name().clone()).collect()
    };
    let (given, wanted) = (names(result), names(view));
    if given == wanted {
        return Ok(());
    }
    Err(Error::new(
        Code::TableSchemaValidationError,
        format!(
            "the query gives the columns {} now, and the view has {}: drop the view and create it again",
            given.join(", "),
            wanted.join(", ")
        ),
    ))
}

fn watermark(sources: &[Source], versions: &[u64]) -> HashMap<String, String> {
    let read: Vec<_> = sources
        .iter()
        .zip(versions)
        .map(|(source, version)| json!({ "table": source.table, "version": version }))
        .collect();
    HashMap::from([(SOURCES.to_string(), json!(read).to_string())])
}
