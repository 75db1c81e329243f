//! Writes the rows of a refresh to files that no version references yet.

use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{Schema, SchemaRef, UInt64Type};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::StreamExt;
use lance::Dataset;
use lance::dataset::transaction::Operation;
use lance::dataset::{InsertBuilder, WriteMode, WriteParams};
use lance_table::format::{Fragment, RowIdMeta};
use lance_table::rowids::{RowIdSequence, write_row_ids};
use parking_lot::Mutex;

use super::schema;
use crate::error::{Code, Error, Result};
use crate::ipc::BatchStream;
use crate::jobs::unnamed_files::UnnamedFiles;
use crate::table::Watch;

/// The result of a query on its way to the files.
pub struct Rows {
    rows: SendableRecordBatchStream,
    /// The row ids of the source, if the query gives them, in the order of the rows.
    ids: Option<Arc<Mutex<RowIdSequence>>>,
}

impl Rows {
    /// The rows of a query.
    pub fn of(rows: SendableRecordBatchStream) -> Self {
        Self { rows, ids: None }
    }

    /// The rows of a query whose last column is the row id of the source.
    pub fn with_row_ids(rows: SendableRecordBatchStream) -> Self {
        let ids = Arc::new(Mutex::new(RowIdSequence::new()));
        let schema = rows.schema();
        let fields: Vec<_> = schema.fields().iter().cloned().collect();
        let fields = fields.split_last().map_or(&[][..], |(_, fields)| fields);
        let schema: SchemaRef = Arc::new(Schema::new(fields.to_vec()));
        let rows = {
            let (ids, schema) = (ids.clone(), schema.clone());
            rows.map(move |batch| {
                let batch = batch?;
                let Some((last, columns)) = batch.columns().split_last() else {
                    return Ok(batch);
                };
                let last = last.as_primitive::<UInt64Type>().values();
                if !last.is_empty() {
                    ids.lock().extend(RowIdSequence::from(&last[..]));
                }
                Ok(RecordBatch::try_new(schema.clone(), columns.to_vec())?)
            })
        };
        Self {
            rows: Box::pin(RecordBatchStreamAdapter::new(schema, rows)),
            ids: Some(ids),
        }
    }
}

/// Written rows.
pub struct Written {
    fragments: Vec<Fragment>,
    pub rows: u64,
    /// The row ids of the source, if the query gave them, in the order of the rows.
    ids: Option<RowIdSequence>,
    /// The files of workers.
    unnamed: Option<UnnamedFiles>,
}

impl Written {
    /// Rows with ids of their own.
    pub fn new(fragments: Vec<Fragment>, rows: u64) -> Self {
        Self {
            fragments,
            rows,
            ids: None,
            unnamed: None,
        }
    }

    /// Rows in the files of workers. `ids`: those of the source, in the order of the rows.
    pub fn of_workers(fragments: Vec<Fragment>, ids: &[u64], unnamed: UnnamedFiles) -> Self {
        Self {
            fragments,
            rows: ids.len() as u64,
            ids: Some(RowIdSequence::from(ids)),
            unnamed: Some(unnamed),
        }
    }

    /// Rows with ids of their own, in the files of a worker.
    pub fn of_query(fragments: Vec<Fragment>, unnamed: UnnamedFiles) -> Self {
        let rows = fragments.iter().filter_map(|one| one.physical_rows);
        let rows = rows.sum::<usize>() as u64;
        Self {
            unnamed: Some(unnamed),
            ..Self::new(fragments, rows)
        }
    }

    /// From here on a version may name the files.
    pub fn keep(&mut self) {
        if let Some(unnamed) = &mut self.unnamed {
            unnamed.keep();
        }
    }

    /// Whether the rows have the ids of the source.
    pub fn has_row_ids(&self) -> bool {
        self.ids.is_some()
    }

    /// The fragments; the ids of their rows are those of the source plus `base`.
    pub fn fragments(&self, base: u64) -> Result<Vec<Fragment>> {
        let Some(ids) = &self.ids else {
            return Ok(self.fragments.clone());
        };
        let mut ids = ids.iter().map(|id| base + id);
        let fragments = self.fragments.iter().cloned();
        let fragments = fragments
            .map(|mut fragment| {
                let rows = fragment.physical_rows.unwrap_or_default();
                let own: Vec<u64> = ids.by_ref().take(rows).collect();
                if own.len() < rows {
                    return Err(lost_ids());
                }
                let own = write_row_ids(&RowIdSequence::from(own.as_slice()));
                fragment.row_id_meta = Some(RowIdMeta::Inline(own.into()));
                Ok(fragment)
            })
            .collect::<Result<_>>()?;
        match ids.next() {
            None => Ok(fragments),
            Some(_) => Err(lost_ids()),
        }
    }
}

fn lost_ids() -> Error {
    Error::new(
        Code::Internal,
        "the rows of the refresh and their ids differ in number",
    )
}

/// Writes the rows of a query as rows of the view. `on_rows` gets the number of rows so far.
pub async fn write(
    view: &Arc<Dataset>,
    rows: Rows,
    max_rows_per_fragment: Option<usize>,
    on_rows: impl Fn(u64) + Send + 'static,
) -> Result<Written> {
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
    let Rows { rows, ids } = rows;
    let rows = schema::conform(rows, Arc::new(Schema::from(view.schema())));
    let watch = Arc::new(Watch::default());
    let counted = {
        let watch = watch.clone();
        let schema = rows.schema();
        let rows = watch.clone().over(rows).inspect(move |_| {
            on_rows(watch.rows());
        });
        RecordBatchStreamAdapter::new(schema, rows)
    };
    let rows: BatchStream = Box::pin(counted);
    let written = InsertBuilder::new(view.clone())
        .with_params(&params)
        .execute_uncommitted_stream(rows)
        .await
        .map_err(|error| watch.failure().unwrap_or_else(|| Error::of_input(error)))?;
    match written.operation {
        Operation::Append { fragments } => Ok(Written {
            fragments,
            rows: watch.rows(),
            ids: ids.map(|ids| std::mem::take(&mut *ids.lock())),
            unnamed: None,
        }),
        _ => Err(Error::invalid(
            "the write of the view did not produce an append",
        )),
    }
}
