//! Create and overwrite: an upload becomes a version.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use datafusion::error::DataFusionError;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::StreamExt;
use lance::Dataset;
use lance::dataset::{InsertBuilder, WriteDestination, WriteMode, WriteParams};
use lance_file::version::LanceFileVersion;
use parking_lot::Mutex;

use super::Table;
use super::once::counted;
use crate::error::{Code, Error, Result};
use crate::ipc::{BatchStream, UploadReader, ahead, decode};
use crate::names::check_column;
use crate::root::store_params;
use crate::view::check_not_view;

/// A committed write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    pub version: u64,
    /// Rows the upload held.
    pub num_rows: u64,
}

impl Table {
    /// Writes a new table: with stable row ids, so that indexes survive compaction, and in the
    /// newest stable file format. With `overwrite` an existing table's schema and rows are replaced
    /// in one commit; without, an existing table is an error (code 5).
    ///
    /// A failure commits nothing; files that were already written stay for the caller to remove.
    pub async fn create(&self, upload: UploadReader, overwrite: bool) -> Result<Written> {
        if let Some(earlier) = self.earlier().await? {
            return Ok(earlier.written());
        }
        match self.newest().await {
            Ok(existing) if overwrite => {
                check_not_view(&existing)?;
                return self.replace(upload, existing).await;
            }
            Ok(_) => {
                return Err(Error::new(
                    Code::TableAlreadyExists,
                    "the table already exists",
                ));
            }
            Err(error) if error.code() == Code::TableNotFound => {}
            Err(error) => return Err(error),
        }
        let params = self.new_table_params();
        self.insert(upload, self.handle.location().into(), params)
            .await
    }

    /// How the first version of a table is written.
    pub(crate) fn new_table_params(&self) -> WriteParams {
        WriteParams {
            mode: WriteMode::Create,
            enable_stable_row_ids: true,
            enable_v2_manifest_paths: true,
            data_storage_version: Some(LanceFileVersion::V2_2),
            session: Some(self.handle.fresh_session()),
            store_params: Some(store_params(self.handle.storage_options().clone())),
            commit_handler: self.handle.commit_handler(),
            skip_auto_cleanup: true,
            ..WriteParams::default()
        }
    }

    /// Replaces schema and rows in one commit.
    pub async fn overwrite(&self, upload: UploadReader) -> Result<Written> {
        if let Some(earlier) = self.earlier().await? {
            return Ok(earlier.written());
        }
        let newest = self.changeable().await?;
        self.replace(upload, newest).await
    }

    async fn replace(&self, upload: UploadReader, dataset: Arc<Dataset>) -> Result<Written> {
        let params = onto(&dataset, WriteMode::Overwrite);
        let insert = self.insert(upload, dataset.into(), params);
        self.while_there(insert).await
    }

    async fn insert(
        &self,
        upload: UploadReader,
        destination: WriteDestination<'_>,
        mut params: WriteParams,
    ) -> Result<Written> {
        let _memory = self.memory_for_writing().await?;
        let (schema, batches) = decode(upload).await?;
        for field in schema.fields() {
            check_column(field.name())?;
        }
        params.file_writer_options = self.file_options(&schema);
        let watch = Arc::new(Watch::default());
        let builder = InsertBuilder::new(destination).with_params(&params);
        let writing = builder.execute_stream(watch.clone().over(ahead(batches)));
        let dataset = self
            .as_attempt(counted(&watch), writing)
            .await
            // A broken upload reaches us through Lance's own errors: the first cause is the true one.
            .map_err(|error| watch.failure().unwrap_or_else(|| refused(error)))?;
        Ok(Written {
            version: self.committed(dataset),
            num_rows: watch.rows(),
        })
    }
}

/// How to write to an existing table.
pub(super) fn onto(dataset: &Dataset, mode: WriteMode) -> WriteParams {
    WriteParams {
        mode,
        enable_stable_row_ids: dataset.manifest().uses_stable_row_ids(),
        session: Some(dataset.session()),
        skip_auto_cleanup: true,
        ..WriteParams::default()
    }
}

/// Lance checks the data against the table while it writes: what it finds is the upload's fault.
pub(super) fn refused(error: lance::Error) -> Error {
    let error = Error::of_input(error);
    match error.code() {
        Code::TableColumnNotFound => Error::new(Code::TableSchemaValidationError, error.message()),
        _ => error,
    }
}

/// Counts the rows of a stream and keeps its first error.
#[derive(Default)]
pub(crate) struct Watch {
    rows: AtomicU64,
    failure: Mutex<Option<Error>>,
}

impl Watch {
    /// Rows that have come through.
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// The first error of ours, once.
    pub fn failure(&self) -> Option<Error> {
        self.failure.lock().take()
    }

    pub fn over(self: Arc<Self>, batches: BatchStream) -> BatchStream {
        let schema = batches.schema();
        let watched = batches.inspect(move |batch| match batch {
            Ok(batch) => {
                self.rows
                    .fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
            }
            Err(DataFusionError::External(error)) => {
                if let Some(error) = error.downcast_ref::<Error>() {
                    self.failure.lock().get_or_insert_with(|| error.clone());
                }
            }
            Err(_) => {}
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, watched))
    }
}
