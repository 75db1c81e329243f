//! The computation of a refresh: plans the query, finds the scope, and writes the rows.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::{Schema, UInt64Type};
use datafusion::catalog::TableProvider;
use datafusion::dataframe::DataFrame;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;
use lance::Dataset;
use parking_lot::Mutex;

use super::expansion::Failures;
use super::groups::{GroupKeys, Groups};
use super::planned_query::{PlannedQuery, planned_query};
use super::plans::{group_keys, merged, over, some_groups, with_row_ids};
use super::read_columns::ReadColumns;
use super::scope::{Changes, ReplacedRows, Scope};
use super::shape::Shape;
use super::state::State;
use super::write::{Rows, Written, write};
use super::{Refresh, Source};
use crate::error::{Error, Result};
use crate::jobs::checkpoint::Checkpoint;
use crate::memory::Reservation;
use crate::planning::planned;
use crate::query::ChangedRows;
use crate::schema::ViewFunction;
use crate::sql::{ScanSize, SourceTable};
use crate::table::{Table, rows_in};
use crate::work::WorkContext;

/// Bytes and rows of a batch that is read for a function.
const SCAN_BYTES: usize = 16 << 20;
const SCAN_ROWS: usize = 8_192;

/// The rows of the view that the computed ones replace.
pub enum Replaced {
    All,
    Rows {
        /// The ids of rows of the source.
        ids: roaring::RoaringTreemap,
        /// The ids of the view's rows are greater by this.
        base: u64,
    },
    /// Those that a function made of rows of the source.
    Expanded {
        /// The ids of rows of the source.
        ids: roaring::RoaringTreemap,
    },
    Groups(GroupKeys),
}

/// The result of a computation.
pub struct Computation {
    pub written: Written,
    pub replaced: Replaced,
    /// Why all rows were computed.
    pub full_because: Option<Cow<'static, str>>,
    pub failures: Failures,
    /// What the commit makes useless.
    pub checkpoint: Option<Checkpoint>,
}

impl Computation {
    fn new(written: Written, replaced: Replaced, full_because: Option<Cow<'static, str>>) -> Self {
        Self {
            written,
            replaced,
            full_because,
            failures: Failures::default(),
            checkpoint: None,
        }
    }
}

/// What a refresh found.
pub enum Outcome {
    /// There is nothing to commit. With a function, an earlier run of the job may have committed.
    UpToDate(Failures),
    Computed(Box<Computation>),
}

/// What a refresh works with.
pub struct Inputs<'a> {
    pub table: &'a Table,
    pub view: &'a Arc<Dataset>,
    pub state: Option<&'a State>,
    pub context: SessionContext,
    pub sql: &'a str,
    pub function: Option<&'a ViewFunction>,
    pub sources: &'a [(Vec<String>, Arc<Dataset>)],
    pub refresh: &'a Refresh,
    /// What the computation reserves in this process.
    pub memory: Mutex<Option<Reservation>>,
}

impl Inputs<'_> {
    /// Returns the memory of the computation, which workers do in their own.
    pub fn release_memory(&self) {
        drop(self.memory.lock().take());
    }

    /// Computes the rows of the view.
    pub async fn compute(&self, work: &WorkContext) -> Result<Outcome> {
        let view = Schema::from(self.view.schema());
        let query = (self.sql, self.function);
        let PlannedQuery { plan, shape, read } =
            planned_query(&self.context, query, self.sources, &view).await?;
        let scope = match (self.refresh.full, self.refresh.output_limit) {
            (true, _) => Scope::All("the request asks for a full refresh".into()),
            (_, Some(_)) => Scope::All("the request has an output_limit".into()),
            (false, None) => {
                let sources = &self.refresh.sources;
                scope(
                    self.table,
                    (&shape, &read),
                    self.state,
                    sources,
                    self.sources,
                )
                .await?
            }
        };
        if let (Some(function), [(_, source)]) = (self.function, self.sources) {
            return self.expand(&plan, function, source, scope, work).await;
        }
        let reason = match (scope, &shape, self.sources) {
            (Scope::Nothing, ..) => return Ok(Outcome::UpToDate(Failures::default())),
            (Scope::All(reason), ..) => reason,
            (Scope::Changed(changes), shape, [(_, source)]) => {
                match self.changed(&plan, shape, source, changes, work).await? {
                    Ok((written, replaced)) => {
                        return Ok(Outcome::Computed(Box::new(Computation::new(
                            written, replaced, None,
                        ))));
                    }
                    Err(reason) => reason.into(),
                }
            }
            (Scope::Changed(_), ..) => "the query reads several tables".into(),
        };
        let written = match (shape, self.sources) {
            (Shape::RowWise, [(_, source)]) if has_row_ids(self.view, source) => {
                self.write_row_wise(&plan, source, None, work).await?
            }
            _ => self.write_whole(plan, work).await?,
        };
        let computed = Computation::new(written, Replaced::All, Some(reason));
        Ok(Outcome::Computed(Box::new(computed)))
    }

    /// The rows that come from changed rows, or the reason why all rows have to be computed.
    async fn changed(
        &self,
        plan: &DataFrame,
        shape: &Shape,
        source: &Arc<Dataset>,
        changes: Changes,
        work: &WorkContext,
    ) -> Result<std::result::Result<(Written, Replaced), &'static str>> {
        let Some(replaced) = changes.replaced(source).await? else {
            return Ok(Err("too many rows of the source have changed"));
        };
        match shape {
            Shape::Whole(reason) => Ok(Err(*reason)),
            // A view with a function has a computation of its own.
            Shape::Expanded => Ok(Err("the view has a function")),
            Shape::RowWise => {
                let written = self.write_row_wise(plan, source, Some(changes.rows), work);
                let replaced = Replaced::Rows {
                    ids: replaced.ids,
                    base: changes.row_id_base,
                };
                Ok(Ok((written.await?, replaced)))
            }
            Shape::Groups(groups) => {
                let changed = self.changed_groups(plan, groups, source, changes, replaced);
                Ok(match changed.await? {
                    Ok((rows, replaced)) => Ok((self.write_rows(rows, work).await?, replaced)),
                    Err(reason) => Err(reason),
                })
            }
        }
    }

    async fn changed_groups(
        &self,
        plan: &DataFrame,
        groups: &Groups,
        source: &Arc<Dataset>,
        changes: Changes,
        replaced: ReplacedRows,
    ) -> Result<std::result::Result<(Rows, Replaced), &'static str>> {
        let view = Schema::from(self.view.schema());
        let fields = groups.keys.iter().map(|key| view.field(*key).clone());
        let mut keys = GroupKeys::new(fields.collect())?;
        let merge = groups.merge.as_ref().filter(|_| replaced.only_new);
        if groups.keys.is_empty() && merge.is_none() {
            return Ok(Err(
                "rows were changed or deleted, and the query has aggregates without GROUP BY",
            ));
        }
        if !groups.keys.is_empty() {
            let rows = changes.rows.clone();
            let new = self.run_over(plan, source, Some(rows), group_keys).await?;
            let mut is_complete = collect_keys(new, &mut keys, |_| true).await?;
            if !replaced.only_new {
                let before = changes.former_rows(source);
                let begin = &changes.begin;
                let former = self.run_over(plan, begin, Some(before), group_keys).await?;
                let is_replaced = |id| replaced.ids.contains(id);
                is_complete &= collect_keys(former, &mut keys, is_replaced).await?;
            }
            if !is_complete {
                return Ok(Err("too many groups have changed"));
            }
        }
        let (state, plan) = plan.clone().into_parts();
        let table = SourceTable::new(source.clone(), ScanSize::default());
        let rows = match merge {
            Some(merge) => {
                let new: Arc<dyn TableProvider> = Arc::new(table.with_changed(Some(changes.rows)));
                let former = SourceTable::new(self.view.clone(), ScanSize::default());
                let former: Arc<dyn TableProvider> = Arc::new(former);
                merged(over(&plan, &new)?, &former, &view, merge, &keys)?
            }
            None => some_groups(&plan, &keys)?,
        };
        let rows = self.run(DataFrame::new(state, rows)).await?;
        let replaced = match groups.keys.is_empty() {
            true => Replaced::All,
            false => Replaced::Groups(keys),
        };
        Ok(Ok((Rows::of(rows), replaced)))
    }

    /// Runs what `plan_of` makes of the query over some rows of a version of its table, or all, with their ids.
    pub async fn run_over(
        &self,
        plan: &DataFrame,
        source: &Arc<Dataset>,
        rows: Option<ChangedRows>,
        plan_of: fn(&LogicalPlan, &Arc<dyn TableProvider>) -> Result<LogicalPlan>,
    ) -> Result<SendableRecordBatchStream> {
        let mut size = ScanSize::default();
        if self.function.is_some() {
            // A function may get documents or images.
            size.batch = Some(rows_in(source, SCAN_BYTES).min(SCAN_ROWS));
        }
        let table = SourceTable::new(source.clone(), size)
            .with_row_ids()
            .with_changed(rows);
        let table: Arc<dyn TableProvider> = Arc::new(table);
        let (state, plan): (SessionState, _) = plan.clone().into_parts();
        self.run(DataFrame::new(state, plan_of(&plan, &table)?))
            .await
    }

    async fn run(&self, plan: DataFrame) -> Result<SendableRecordBatchStream> {
        let plan = async move { plan.create_physical_plan().await.map_err(Error::of_input) };
        execute_stream(planned(plan).await?, self.context.task_ctx()).map_err(Error::of_input)
    }

    /// Writes the rows that come from these rows of the source of a row-wise query, or from all.
    async fn write_row_wise(
        &self,
        plan: &DataFrame,
        source: &Arc<Dataset>,
        rows: Option<ChangedRows>,
        work: &WorkContext,
    ) -> Result<Written> {
        if let Some(written) = self.on_workers(plan, source, rows.as_ref(), work).await? {
            return Ok(written);
        }
        let rows = self.run_over(plan, source, rows, with_row_ids).await?;
        self.write_rows(Rows::with_row_ids(rows), work).await
    }

    /// Writes all rows of a query that is computed as a whole.
    async fn write_whole(&self, plan: DataFrame, work: &WorkContext) -> Result<Written> {
        if let Some(written) = self.whole_on_worker(&plan, work).await? {
            return Ok(written);
        }
        let rows = self.run(plan).await?;
        self.write_rows(Rows::of(rows), work).await
    }

    async fn write_rows(&self, rows: Rows, work: &WorkContext) -> Result<Written> {
        let work = work.clone();
        self.write(rows, move |rows| work.report("refresh", rows, None))
            .await
    }

    /// Writes rows to files that no version names. `on_rows` gets the number of rows so far.
    pub async fn write(
        &self,
        rows: Rows,
        on_rows: impl Fn(u64) + Send + 'static,
    ) -> Result<Written> {
        write(self.view, rows, self.refresh.max_rows_per_fragment, on_rows).await
    }
}

/// Adds the keys of rows, by the ids in the last column; `false` if there are too many.
async fn collect_keys(
    mut rows: SendableRecordBatchStream,
    keys: &mut GroupKeys,
    is_wanted: impl Fn(u64) -> bool,
) -> Result<bool> {
    while let Some(batch) = rows.try_next().await.map_err(Error::of_input)? {
        let Some((ids, columns)) = batch.columns().split_last() else {
            continue;
        };
        let ids = ids.as_primitive::<UInt64Type>();
        if !keys.add(columns, |row| is_wanted(ids.value(row)))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The scope of a refresh without the option `full`.
pub async fn scope(
    view: &Table,
    (shape, read): (&Shape, &ReadColumns),
    state: Option<&State>,
    sources: &[Source],
    opened: &[(Vec<String>, Arc<Dataset>)],
) -> Result<Scope> {
    match (sources, opened) {
        ([source], [(_, end)]) => {
            let tables = view.tables();
            let source = tables.table(&source.location, source.storage_options.clone());
            Scope::of(shape, read, state, &source, end).await
        }
        _ => Ok(Scope::All(match shape {
            Shape::Whole(reason) => (*reason).into(),
            Shape::RowWise | Shape::Expanded | Shape::Groups(_) => {
                "the query reads several tables".into()
            }
        })),
    }
}

/// Whether rows of the view can have ids that are derived from those of the source.
fn has_row_ids(view: &Dataset, source: &Dataset) -> bool {
    view.manifest().uses_stable_row_ids() && source.manifest().uses_stable_row_ids()
}
