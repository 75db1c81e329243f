//! The refresh of a view with a function.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::RecordBatch;
use arrow::datatypes::{Field, Schema};
use datafusion::dataframe::DataFrame;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt, stream};
use lance::Dataset;
use lance::dataset::rowids::load_row_id_sequence;
use lance_table::format::Fragment;
use parking_lot::Mutex;

use super::super::compute::{Computation, Inputs, Replaced};
use super::super::plans::with_row_ids;
use super::super::scope::Scope;
use super::super::write::{Rows, Written};
use super::rows::{Layout, row_ids};
use super::schema;
use super::units::{Unit, Units};
use crate::error::Result;
use crate::functions::{BatchBounds, Function, FunctionRun, Functions};
use crate::jobs::checkpoint::{Checkpoint, INTERVAL};
use crate::jobs::row_failures::{MOST_FAILURES, RowFailure};
use crate::query::ChangedRows;
use crate::schema::{Arguments, ViewFunction};
use crate::work::WorkContext;

/// Default and largest number of processes of a function.
const PROCESSES: usize = 2;
const MOST_PROCESSES: usize = 16;
/// Bytes of the rows whose results are in memory at once, for each process.
const SLICE_BYTES: usize = 4 << 20;

/// Makes rows of a view from rows of its query.
struct Expander {
    run: Arc<FunctionRun>,
    processes: usize,
    arguments: Arguments,
    layout: Layout,
    /// The rows of the query's table for which the function failed, by their ids.
    failures: Mutex<Vec<(u64, String)>>,
    /// Rows of the query that are done.
    done: AtomicU64,
}

impl Inputs<'_> {
    /// Computes the rows of the view from the rows of the source that have changed, or from all; `None`: the view is up to
    /// date.
    pub(in super::super) async fn expand(
        &self,
        plan: &DataFrame,
        function: &ViewFunction,
        source: &Arc<Dataset>,
        scope: Scope,
        work: &WorkContext,
    ) -> Result<Option<Computation>> {
        let expander = self.expander(plan, function).await?;
        let (rows, replaced, full_because) = match scope {
            Scope::Nothing => return Ok(None),
            Scope::All(reason) => (all_rows(source), Replaced::All, Some(reason)),
            Scope::Changed(changes) => match changes.replaced(source).await? {
                Some(replaced) => {
                    let ids = replaced.ids;
                    (changes.rows, Replaced::Expanded { ids }, None)
                }
                None => {
                    let reason = "too many rows of the source have changed";
                    (all_rows(source), Replaced::All, Some(reason.into()))
                }
            },
        };
        let checkpoint = match &self.refresh.job {
            Some(job) => Some(Checkpoint::of(self.table, job).await?),
            None => None,
        };
        let mut units = Units::new(checkpoint, self.identity(function, source, &rows)).await;
        loop {
            let missing = units.missing(&rows.fragments);
            self.compute_units(
                &mut units,
                &expander,
                plan,
                source,
                (missing, rows.after),
                work,
            )
            .await?;
            if units.check(self.view).await? {
                break;
            }
        }
        let mut failures = Vec::new();
        for unit in units.done() {
            failures.extend(unit.failures.iter().cloned());
        }
        failures.truncate(MOST_FAILURES);
        let failed = units.done().iter().filter(|unit| unit.failed > 0);
        let failed_fragments = failed
            .map(|unit| (unit.source.id, unit.failed))
            .collect::<Vec<_>>();
        let fragments = units.done().iter().flat_map(|unit| unit.fragments.clone());
        Ok(Some(Computation {
            written: Written::new(
                fragments.collect(),
                units.done().iter().map(|unit| unit.rows).sum(),
            ),
            replaced,
            full_because,
            failures,
            failed_fragments,
            checkpoint: units.into_checkpoint(),
        }))
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
            let written: u64 = units.done().iter().map(|unit| unit.rows).sum();
            let room = self
                .refresh
                .output_limit
                .map(|most| most.saturating_sub(written));
            if room == Some(0) {
                return Ok(());
            }
            expander.done.store(0, Ordering::Relaxed);
            let progress = {
                let (expander, work) = (expander.clone(), work.clone());
                move |_| {
                    let done = passed + expander.done.load(Ordering::Relaxed);
                    work.report("refresh", done, Some(total));
                }
            };
            let one = ChangedRows {
                fragments: vec![fragment.clone()],
                after,
            };
            let unit = async {
                let rows = self.run_over(plan, source, Some(one), with_row_ids).await?;
                let rows = limited(expander.rows(rows), room);
                let written = self.write(Rows::of(rows), progress).await?;
                expander.unit(source, fragment.clone(), written).await
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

    async fn expander(&self, plan: &DataFrame, function: &ViewFunction) -> Result<Arc<Expander>> {
        let functions = self.table.tables().functions();
        let functions = functions.ok_or_else(|| Functions::missing("the view", &function.name))?;
        let view = Schema::from(self.view.schema());
        let query = plan.schema().as_arrow();
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
        Ok(Arc::new(Expander {
            run: Arc::new(FunctionRun::new(
                functions.clone(),
                called,
                processes,
                bounds,
            )),
            processes,
            arguments: schema::arguments(query, &function.inputs)?,
            layout: Layout::new(query, &view, &function.inherited)?,
            failures: Mutex::default(),
            done: AtomicU64::new(0),
        }))
    }

    /// What the rows of a unit depend on, beside its fragment.
    fn identity(&self, function: &ViewFunction, source: &Dataset, rows: &ChangedRows) -> String {
        let columns = |dataset: &Dataset| -> Vec<_> {
            let fields = dataset.schema().fields_pre_order();
            fields
                .map(|field| (field.id, field.name.clone(), field.logical_type.clone()))
                .collect()
        };
        format!(
            "{function:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            self.sql,
            self.state,
            rows.after,
            self.refresh.output_limit,
            columns(source),
            columns(self.view),
        )
    }
}

fn all_rows(source: &Dataset) -> ChangedRows {
    ChangedRows {
        fragments: source.fragments().to_vec(),
        after: None,
    }
}

impl Expander {
    /// The rows of the view for rows of the query, in the order of these.
    fn rows(self: &Arc<Self>, rows: SendableRecordBatchStream) -> SendableRecordBatchStream {
        let slices = rows.flat_map(|batch| {
            let slices = batch.map(|batch| slices(&batch).into_iter().map(Ok).collect::<Vec<_>>());
            stream::iter(slices.unwrap_or_else(|error| vec![Err(error)]))
        });
        let expander = self.clone();
        let rows = slices.map(move |slice: DataFusionResult<RecordBatch>| {
            let expander = expander.clone();
            async move {
                let rows = expander.expand(slice?).await;
                rows.map_err(|error| DataFusionError::External(Box::new(error)))
            }
        });
        Box::pin(RecordBatchStreamAdapter::new(
            self.layout.schema.clone(),
            rows.buffered(self.processes),
        ))
    }

    async fn expand(&self, rows: RecordBatch) -> Result<RecordBatch> {
        let computed = self.run.compute(self.arguments.batch(&rows)?).await?;
        if !computed.failures.is_empty() {
            let ids = row_ids(&rows)?.values();
            let failures = computed.failures.into_iter();
            let failures = failures.map(|(row, message)| (ids[row], message));
            self.failures.lock().extend(failures);
        }
        self.done
            .fetch_add(rows.num_rows() as u64, Ordering::Relaxed);
        self.layout.rows(&rows, &computed.values)
    }

    /// The unit of a fragment whose rows are written.
    async fn unit(&self, source: &Dataset, fragment: Fragment, written: Written) -> Result<Unit> {
        let failed = std::mem::take(&mut *self.failures.lock());
        Ok(Unit {
            rows: written.rows,
            fragments: written.fragments(0)?,
            failed: failed.len() as u64,
            failures: placed(source, &fragment, failed).await?,
            source: fragment,
        })
    }
}

/// The rows of a fragment that failed, by their ids, in their order there.
async fn placed(
    source: &Dataset,
    fragment: &Fragment,
    mut failed: Vec<(u64, String)>,
) -> Result<Vec<RowFailure>> {
    failed.sort_by_key(|(id, _)| *id);
    failed.truncate(MOST_FAILURES);
    if failed.is_empty() {
        return Ok(Vec::new());
    }
    let offsets: Vec<(u64, u64)> = match source.manifest().uses_stable_row_ids() {
        true => {
            let ids = load_row_id_sequence(source, fragment).await?;
            let is_failed = |id: &u64| failed.binary_search_by_key(id, |(id, _)| *id).is_ok();
            let places = ids.iter().zip(0_u64..);
            places.filter(|(id, _)| is_failed(id)).collect()
        }
        // The id of a row is its address.
        false => {
            let ids = failed.iter().map(|(id, _)| *id);
            ids.map(|id| (id, id & 0xffff_ffff)).collect()
        }
    };
    let mut failures = Vec::with_capacity(failed.len());
    for (id, offset) in offsets {
        if let Ok(at) = failed.binary_search_by_key(&id, |(id, _)| *id) {
            failures.push(RowFailure {
                fragment: fragment.id,
                offset,
                message: failed[at].1.clone(),
            });
        }
    }
    failures.sort_by_key(|failure| failure.offset);
    Ok(failures)
}

/// The parts of a batch with about as many bytes as a process gets at once.
fn slices(batch: &RecordBatch) -> Vec<RecordBatch> {
    let rows = batch.num_rows();
    let bytes_per_row = batch.get_array_memory_size() / rows.max(1);
    let most = (SLICE_BYTES / bytes_per_row.max(1)).max(1);
    (0..rows)
        .step_by(most)
        .map(|first| batch.slice(first, most.min(rows - first)))
        .collect()
}

/// The first rows of a stream, as many as there is room for.
fn limited(rows: SendableRecordBatchStream, room: Option<u64>) -> SendableRecordBatchStream {
    let Some(mut room) = room else { return rows };
    let schema = rows.schema();
    let rows = rows.scan((), move |(), batch| {
        let limited = match batch {
            _ if room == 0 => None,
            Ok(batch) => {
                let taken = (batch.num_rows() as u64).min(room);
                room -= taken;
                Some(Ok(batch.slice(0, taken as usize)))
            }
            Err(error) => Some(Err(error)),
        };
        std::future::ready(limited)
    });
    Box::pin(RecordBatchStreamAdapter::new(schema, rows))
}
