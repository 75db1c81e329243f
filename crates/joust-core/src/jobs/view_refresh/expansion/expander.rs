//! Calls the function of a view for the rows of its query.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{Array, ArrayRef, RecordBatch};
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt, stream};
use lance::Dataset;
use lance::dataset::rowids::load_row_id_sequence;
use lance_table::format::Fragment;
use parking_lot::Mutex;

use super::rows::{Layout, Made, row_ids};
use crate::error::{Error, Result};
use crate::functions::{FunctionRun, sent_bytes};
use crate::jobs::row_failures::{MOST_FAILURES, RowFailure};
use crate::schema::Arguments;
use crate::sql::{plain, plain_schema};

/// Bytes of the rows whose results are in memory at once, for each process.
const SLICE_BYTES: usize = 4 << 20;
/// Rows of a slice if the view may need only the first ones.
const LIMITED_ROWS: usize = 64;
/// Bytes of a batch of the view.
const BATCH_BYTES: usize = 16 << 20;

/// Makes rows of a view from rows of its query.
pub struct Expander {
    run: Arc<FunctionRun>,
    processes: usize,
    arguments: Arguments,
    layout: Layout,
    failed: Mutex<Failed>,
    /// Rows of the query that are done since [`take_counts`](Self::take_counts) was called.
    done: AtomicU64,
}

/// A batch of the view that is not made yet.
struct Part {
    rows: RecordBatch,
    results: ArrayRef,
    made: Made,
}

/// Rows of the query's table for which the function failed.
#[derive(Default)]
struct Failed {
    count: u64,
    /// Some of them by their ids.
    messages: Vec<(u64, String)>,
}

impl Expander {
    pub fn new(run: FunctionRun, processes: usize, arguments: Arguments, layout: Layout) -> Self {
        Self {
            run: Arc::new(run),
            processes,
            arguments,
            layout,
            failed: Mutex::default(),
            done: AtomicU64::new(0),
        }
    }

    /// Rows of the query that are done.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// The rows of the view for rows of the query, in the order of these. `is_limited`: the first ones may suffice.
    pub fn rows(
        self: &Arc<Self>,
        rows: SendableRecordBatchStream,
        is_limited: bool,
    ) -> SendableRecordBatchStream {
        let most_rows = match is_limited {
            true => LIMITED_ROWS,
            false => usize::MAX,
        };
        // Functions of DataFusion return views, which few functions of pyarrow take.
        let plain_schema = plain_schema(&rows.schema());
        let slices = rows.flat_map(move |batch| {
            let batch = batch.map_err(Error::of_input);
            let slices =
                batch.and_then(|batch| Ok(slices(&plain(&batch, &plain_schema)?, most_rows)));
            stream::iter(match slices {
                Ok(slices) => slices.into_iter().map(Ok).collect(),
                Err(error) => vec![Err(error)],
            })
        });
        let expander = self.clone();
        let rows = slices.map(move |slice: Result<RecordBatch>| {
            let expander = expander.clone();
            async move { expander.expand(slice?).await }
        });
        let rows = rows.buffered(if is_limited { 1 } else { self.processes });
        let rows = rows.flat_map(|parts| {
            stream::iter(match parts {
                Ok(parts) => parts.into_iter().map(Ok).collect(),
                Err(error) => vec![Err(error)],
            })
        });
        // Each batch is made when the one before is written.
        let expander = self.clone();
        let rows = rows.map(move |part: Result<Part>| {
            let batch = part.and_then(|part| {
                let Part {
                    rows,
                    results,
                    made,
                } = part;
                expander.layout.batch(&rows, &results, made)
            });
            batch.map_err(|error| DataFusionError::External(Box::new(error)))
        });
        Box::pin(RecordBatchStreamAdapter::new(
            self.layout.schema.clone(),
            rows,
        ))
    }

    async fn expand(&self, rows: RecordBatch) -> Result<Vec<Part>> {
        let computed = self.run.compute(self.arguments.batch(&rows)?).await?;
        let ids = row_ids(&rows)?.values();
        {
            let mut failed = self.failed.lock();
            failed.count += computed.failures.len() as u64;
            let room = MOST_FAILURES.saturating_sub(failed.messages.len());
            let failures = computed.failures.into_iter().take(room);
            let failures = failures.map(|(row, message)| (ids[row], message));
            failed.messages.extend(failures);
        }
        let mut parts = Vec::new();
        let mut first = 0;
        for results in computed.pieces {
            let own = rows.slice(first, results.len());
            first += results.len();
            for made in self.layout.parts(&own, &results, BATCH_BYTES)? {
                parts.push(Part {
                    rows: own.clone(),
                    results: results.clone(),
                    made,
                });
            }
        }
        self.done
            .fetch_add(rows.num_rows() as u64, Ordering::Relaxed);
        Ok(parts)
    }

    /// Ends the count of a fragment of the source: the rows that the function got, for how many it failed, and the first
    /// of these.
    pub async fn take_counts(
        &self,
        source: &Dataset,
        fragment: &Fragment,
    ) -> Result<(u64, u64, Vec<RowFailure>)> {
        let called = self.done.swap(0, Ordering::Relaxed);
        let failed = std::mem::take(&mut *self.failed.lock());
        let placed = placed(source, fragment, failed.messages).await?;
        Ok((called, failed.count, placed))
    }
}

/// The rows of a fragment that failed, by their ids, in their order there.
async fn placed(
    source: &Dataset,
    fragment: &Fragment,
    mut failed: Vec<(u64, String)>,
) -> Result<Vec<RowFailure>> {
    failed.sort_by_key(|(id, _)| *id);
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

/// The parts of a batch with about as many bytes as a process gets at once, and at most `most_rows`.
fn slices(batch: &RecordBatch, most_rows: usize) -> Vec<RecordBatch> {
    let rows = batch.num_rows();
    let bytes_per_row = sent_bytes(batch) / rows.max(1);
    let most = (SLICE_BYTES / bytes_per_row.max(1)).clamp(1, most_rows);
    (0..rows)
        .step_by(most)
        .map(|first| batch.slice(first, most.min(rows - first)))
        .collect()
}
