//! Who computes the fragments of a backfill: the engine, its function processes, or workers outside of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::datatypes::{Field, Schema as ArrowSchema};
use futures::StreamExt;
use futures::stream::BoxStream;
use lance::dataset::fragment::FileFragment;

use super::Backfill;
use super::binding::{Binding, Computation};
use super::remote::RemoteFragments;
use super::run::Wanted;
use super::stage::{Staged, stage};
use crate::error::Result;
use crate::functions::{BatchBounds, Function, FunctionRun, Functions};
use crate::jobs::remote::RemoteWork;
use crate::schema::FunctionColumn;
use crate::table::Table;
use crate::work::WorkContext;

/// Default and largest number of fragments that are computed concurrently.
const CONCURRENCY: usize = 2;
const MOST_CONCURRENCY: usize = 16;

/// What calls the function of a virtual column.
pub enum Calls {
    /// Processes of this engine.
    Local(Arc<FunctionRun>),
    /// Workers outside of it.
    Remote {
        work: RemoteWork,
        payload: Vec<u8>,
        column: FunctionColumn,
    },
}

impl Table {
    /// What calls the function of a virtual column; `None`: SQL computes the column. Code 0 if nothing does.
    pub(super) async fn calls(
        &self,
        binding: &Binding,
        backfill: &Backfill,
    ) -> Result<Option<Calls>> {
        let Computation::Function(column) = &binding.computation else {
            return Ok(None);
        };
        if let Some(work) = &backfill.workers {
            return Ok(Some(Calls::Remote {
                work: work.clone(),
                payload: self.function_payload(&column.sha256).await?,
                column: column.clone(),
            }));
        }
        let functions = self.tables().functions();
        let functions = functions.ok_or_else(|| {
            Functions::missing(&format!("column `{}`", binding.name()), &column.name)
        })?;
        let output = ArrowSchema::from(&binding.target).field(0).clone();
        let function = Function {
            name: column.name.clone(),
            payload: self.function_payload(&column.sha256).await?,
            sha256: column.sha256.clone(),
            struct_field: column.struct_field.clone(),
            expands: false,
            // Its metadata has the declaration, which the function does not need.
            output: Field::new(output.name(), output.data_type().clone(), true),
        };
        Ok(Some(Calls::Local(Arc::new(FunctionRun::new(
            functions.clone(),
            function,
            concurrency(backfill),
            batches(backfill)?,
        )))))
    }
}

impl Wanted<'_> {
    /// Computes these fragments, each into a file of its own.
    pub(super) fn compute(
        &self,
        fragments: Vec<FileFragment>,
        work: &WorkContext,
    ) -> Result<BoxStream<'static, Result<Staged>>> {
        let (dataset, binding) = (self.newest.clone(), self.binding.clone());
        let since = self.changed_since;
        let run = match self.calls {
            Some(Calls::Remote {
                work: remote,
                payload,
                column,
            }) => {
                let remote_fragments = RemoteFragments {
                    dataset,
                    binding,
                    fragments,
                    function: column,
                    payload: payload.clone(),
                    changed_since: since,
                    batches: batches(self.backfill)?,
                    concurrency: self.backfill.concurrency,
                };
                return Ok(remote_fragments.stage(remote, work)?.boxed());
            }
            Some(Calls::Local(run)) => Some(run.clone()),
            None => None,
        };
        let on_rows = counter(&fragments, work.clone());
        let staged = futures::stream::iter(fragments).map(move |fragment| {
            let (dataset, binding) = (dataset.clone(), binding.clone());
            stage(
                dataset,
                fragment,
                binding,
                run.clone(),
                since,
                on_rows.clone(),
            )
        });
        Ok(staged.buffer_unordered(concurrency(self.backfill)).boxed())
    }
}

/// The rows of a call.
pub fn batches(backfill: &Backfill) -> Result<BatchBounds> {
    BatchBounds::new(backfill.min_batch_rows, backfill.max_batch_rows)
}

/// The fragments that are computed at the same time.
fn concurrency(backfill: &Backfill) -> usize {
    let wanted = backfill.concurrency.unwrap_or(CONCURRENCY);
    wanted.clamp(1, MOST_CONCURRENCY)
}

fn counter(fragments: &[FileFragment], work: WorkContext) -> Arc<dyn Fn(u64) + Send + Sync> {
    let total = fragments
        .iter()
        .map(|fragment| fragment.fast_physical_rows().unwrap_or(0) as u64)
        .sum();
    let completed = AtomicU64::new(0);
    Arc::new(move |rows| {
        let before = completed.fetch_add(rows, Ordering::Relaxed);
        work.report("backfill", before + rows, Some(total));
    })
}
