//! The refresh of a view with a function.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use datafusion::dataframe::DataFrame;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{TryStreamExt, stream};
use lance::Dataset;
use lance_table::format::Fragment;

use super::super::compute::{Computation, Inputs, Outcome, Replaced};
use super::super::plans::with_row_ids;
use super::super::schema::columns_of;
use super::super::scope::Scope;
use super::super::write::{Rows, Written};
use super::expander::Expander;
use super::remote_calls::RemoteCalls;
use super::rows::Layout;
use super::schema;
use super::units::{Failures, Unit, Units};
use crate::error::{Error, Result};
use crate::functions::{BatchBounds, Function, FunctionRun, Functions};
use crate::jobs::checkpoint::{Checkpoint, INTERVAL};
use crate::query::ChangedRows;
use crate::schema::ViewFunction;
use crate::sql::plain_schema;
use crate::work::WorkContext;

/// Default and largest number of processes of a function.
const PROCESSES: usize = 2;
const MOST_PROCESSES: usize = 16;
/// If a function fails for so many changed rows and for no other one, it is not because of the rows.
const MANY_FAILURES: u64 = 100;

/// What calls the function of a view.
enum Calls {
    Local(Arc<Expander>),
    Remote(Box<RemoteCalls>),
}

impl Inputs<'_> {
    /// Computes the rows of the view from the rows of the source that have changed, or from all.
    pub(in super::super) async fn expand(
        &self,
        plan: &DataFrame,
        function: &ViewFunction,
        source: &Arc<Dataset>,
        scope: Scope,
        work: &WorkContext,
    ) -> Result<Outcome> {
        let checkpoint = match &self.refresh.job {
            Some(job) => Some(Checkpoint::of(self.table, job).await?),
            None => None,
        };
        let (rows, replaced, full_because) = match scope {
            Scope::Nothing => {
                let Some(checkpoint) = checkpoint else {
                    return Ok(Outcome::UpToDate(Failures::default()));
                };
                let failures = Failures::of_earlier_run(&checkpoint).await;
                checkpoint.remove().await;
                return Ok(Outcome::UpToDate(failures));
            }
            Scope::All(reason) => (ChangedRows::all(source), Replaced::All, Some(reason)),
            Scope::Changed(changes) => match changes.replaced(source).await? {
                Some(replaced) => {
                    let ids = replaced.ids;
                    (changes.rows, Replaced::Expanded { ids }, None)
                }
                None => {
                    let reason = "too many rows of the source have changed";
                    (ChangedRows::all(source), Replaced::All, Some(reason.into()))
                }
            },
        };
        let calls = self.calls(plan, function, source).await?;
        let mut units = Units::new(checkpoint, self.identity(function, source, &rows)).await;
        loop {
            let missing = units.missing(&rows.fragments);
            let missing = (missing, rows.after);
            match &calls {
                Calls::Local(expander) => {
                    self.compute_units(&mut units, expander, plan, source, missing, work)
                        .await?;
                }
                Calls::Remote(calls) => {
                    self.receive_units(&mut units, calls, source, missing, work)
                        .await?;
                }
            }
            if units.check(self.view).await? {
                break;
            }
        }
        let fragments = units.done().iter().flat_map(|unit| unit.fragments.clone());
        let rows = units.done().iter().map(|unit| unit.rows).sum();
        let failures = units.failures();
        let called: u64 = units.done().iter().map(|unit| unit.called).sum();
        if rows == 0 && (full_because.is_some() || called >= MANY_FAILURES) {
            self.check_failures(function, called, &failures).await?;
        }
        Ok(Outcome::Computed(Box::new(Computation {
            written: Written::new(fragments.collect(), rows),
            replaced,
            full_because,
            failures,
            checkpoint: units.into_checkpoint(),
        })))
    }

    /// A function that fails for all rows, because a service is away for example, must not empty the view.
    async fn check_failures(
        &self,
        function: &ViewFunction,
        called: u64,
        failures: &Failures,
    ) -> Result<()> {
        let failed: u64 = failures.fragments.iter().map(|(_, rows)| rows).sum();
        if failed == 0 || failed < called || self.view.count_rows(None).await? == 0 {
            return Ok(());
        }
        let first = failures.rows.first().map_or("", |one| &one.message);
        Err(Error::invalid(format!(
            "the function `{}` failed for all {failed} rows, so the view keeps its rows; the first \
             failure: {first}",
            function.name,
        )))
    }

    /// Computes fragments of the source one after the other, until the view has as many rows as the request allows.
    async fn compute_units(
        &self,
        units: &mut Units,
        expander: &Arc<Expander>,
        plan: &DataFrame,
        source: &Arc<Dataset>,
        (missing, after): (Vec<Fragment>, Option<u64>),
        work: &WorkContext,
    ) -> Result<()> {
        let rows = |one: &Fragment| one.physical_rows.unwrap_or_default() as u64;
        let total = missing.iter().map(rows).sum();
        let mut passed = 0;
        for fragment in missing {
            let room = self.room(units);
            if room == Some(0) {
                return Ok(());
            }
            let progress = {
                let (expander, work) = (expander.clone(), work.clone());
                move |_| {
                    let done = passed + expander.done();
                    work.report("refresh", done, Some(total));
                }
            };
            let one = ChangedRows {
                fragments: vec![fragment.clone()],
                after,
            };
            let unit = async {
                let rows = self.run_over(plan, source, Some(one), with_row_ids).await?;
                let rows = limited(expander.rows(rows, room.is_some()), room);
                let written = self.write(Rows::of(rows), progress).await?;
                let (called, failed, failures) = expander.take_counts(source, &fragment).await?;
                Ok::<_, Error>(Unit {
                    source: fragment.clone(),
                    fragments: written.fragments(0)?,
                    rows: written.rows,
                    called,
                    failed,
                    failures,
                })
            };
            tokio::pin!(unit);
            // The checkpoint has the units before soon, although this one may take hours.
            let unit = loop {
                match units.is_saved() {
                    true => break unit.await?,
                    false => match tokio::time::timeout(INTERVAL, &mut unit).await {
                        Ok(unit) => break unit?,
                        Err(_) => units.save().await,
                    },
                }
            };
            units.add(unit).await;
            passed += rows(&fragment);
        }
        Ok(())
    }

    /// How many rows the view may have more; `None`: there is no limit.
    pub(super) fn room(&self, units: &Units) -> Option<u64> {
        let written: u64 = units.done().iter().map(|unit| unit.rows).sum();
        let most = self.refresh.output_limit?;
        Some(most.saturating_sub(written))
    }

    /// What calls the function: processes of this engine, or workers outside of it. Code 0 if nothing does.
    async fn calls(
        &self,
        plan: &DataFrame,
        function: &ViewFunction,
        source: &Arc<Dataset>,
    ) -> Result<Calls> {
        let tables = self.table.tables();
        let is_remote = tables.functions().is_none() && tables.has_functions();
        if is_remote && self.refresh.workers.is_some() {
            let calls = self.remote_calls(plan, function, source).await?;
            return Ok(Calls::Remote(Box::new(calls)));
        }
        Ok(Calls::Local(self.expander(plan, function).await?))
    }

    async fn expander(&self, plan: &DataFrame, function: &ViewFunction) -> Result<Arc<Expander>> {
        let functions = self.table.tables().functions();
        let functions = functions.ok_or_else(|| Functions::missing("the view", &function.name))?;
        let view = Schema::from(self.view.schema());
        let query = plain_schema(plan.schema().inner());
        let output = schema::result_type(&view, function);
        let called = Function {
            name: function.name.clone(),
            payload: self.table.function_payload(&function.sha256).await?,
            sha256: function.sha256.clone(),
            struct_field: None,
            expands: true,
            output: Field::new("rows", output, true),
        };
        let processes = self.refresh.concurrency.unwrap_or(PROCESSES);
        let processes = processes.clamp(1, MOST_PROCESSES);
        let bounds = BatchBounds::new(None, self.refresh.call_rows)?;
        Ok(Arc::new(Expander::new(
            FunctionRun::new(functions.clone(), called, processes, bounds),
            processes,
            schema::arguments(&query, &function.inputs)?,
            Layout::new(&query, &view, &function.inherited)?,
        )))
    }

    /// What the rows of a unit depend on, beside its fragment.
    fn identity(&self, function: &ViewFunction, source: &Dataset, rows: &ChangedRows) -> String {
        format!(
            "{function:?} {:?} {:?} {:?} {:?} {} {}",
            self.sql,
            self.state,
            rows.after,
            self.refresh.output_limit,
            columns_of(source),
            columns_of(self.view),
        )
    }
}

/// The first rows of a stream, as many as there is room for. It does not wait for others.
fn limited(rows: SendableRecordBatchStream, room: Option<u64>) -> SendableRecordBatchStream {
    let Some(room) = room else { return rows };
    let schema = rows.schema();
    let rows = stream::try_unfold((rows, room), |(mut rows, room)| async move {
        if room == 0 {
            return Ok(None);
        }
        let Some(batch) = rows.try_next().await? else {
            return Ok(None);
        };
        let taken = (batch.num_rows() as u64).min(room);
        let batch = batch.slice(0, taken as usize);
        Ok(Some((batch, (rows, room - taken))))
    });
    Box::pin(RecordBatchStreamAdapter::new(schema, rows))
}
