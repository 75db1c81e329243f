//! Writes the rows of an upload to files that no version references yet.
//!
//! It holds no lock of the table meanwhile: the duration of an upload depends on its client.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use datafusion::error::DataFusionError;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::StreamExt;
use lance::Dataset;
use lance::dataset::transaction::Transaction;
use lance::dataset::{InsertBuilder, WriteDestination, WriteMode, WriteParams};
use parking_lot::Mutex;
use tracing::{Instrument, info_span};

use super::Table;
use super::gather::{Gathered, gather, whole};
use super::write::FORMAT;
use crate::commit::start_fsync;
use crate::error::{Code, Error, Result};
use crate::ipc::{BatchStream, UploadReader, ahead, decode};
use crate::names::check_column;
use crate::storage::root::store_params;
use crate::storage::{LocalWriter, fsync::PendingFsync};

impl Table {
    /// Writes rows for a commit to a version, and waits for their fsync if the commit would. Returns the change that
    /// references their files, and the number of rows. A failure leaves at most files that no version references.
    pub(super) async fn stage(
        &self,
        version: &Arc<Dataset>,
        mode: WriteMode,
        rows: BatchStream,
    ) -> Result<(Transaction, u64)> {
        let params = onto(version, mode);
        let files = match self.writes_pieces() {
            true => {
                let files = LocalWriter::of(version.clone(), self.durability()).await?;
                files.version
            }
            false => version.clone(),
        };
        let (rows, num_rows) = self.stage_as(params, files.into(), rows).await?;
        if let Some(pending) = self.start_fsync(&rows, version).await? {
            pending.end().await?;
        }
        Ok((rows, num_rows))
    }

    /// Writes the first rows of a table, as [`stage`](Self::stage) does; their fsync is part of the commit.
    pub(crate) async fn stage_new(&self, rows: BatchStream) -> Result<(Transaction, u64)> {
        let location = self.handle.location();
        let own = match self.writes_pieces() {
            true => self.durability().session_of_new(location),
            false => None,
        };
        let params = WriteParams {
            mode: WriteMode::Create,
            enable_stable_row_ids: true,
            data_storage_version: Some(FORMAT),
            session: Some(own.unwrap_or_else(|| self.handle.fresh_session())),
            store_params: Some(store_params(self.handle.storage_options().clone())),
            commit_handler: self.handle.commit_handler(),
            ..WriteParams::default()
        };
        self.stage_as(params, location.into(), rows).await
    }

    async fn stage_as(
        &self,
        mut params: WriteParams,
        destination: WriteDestination<'_>,
        rows: BatchStream,
    ) -> Result<(Transaction, u64)> {
        let (rows, held, is_all) = match gather(rows).await? {
            Gathered::Whole {
                schema,
                batches,
                bytes,
            } => (whole(schema, batches), bytes, true),
            Gathered::Long(rows, bytes) => (rows, bytes, false),
        };
        let _memory = self.memory_for_writing(held, is_all).await?;
        params.file_writer_options = self.file_options(&rows.schema());
        let watch = Arc::new(Watch::default());
        let transaction = InsertBuilder::new(destination)
            .with_params(&params)
            .execute_uncommitted_stream(watch.clone().over(ahead(rows)))
            .instrument(info_span!("write data files"))
            .await
            // Lance wraps the error of a broken upload: the first cause is the actual one.
            .map_err(|error| watch.failure().unwrap_or_else(|| refused(error)))?;
        Ok((transaction, watch.rows()))
    }

    /// Starts the fsync of new files, if a commit has to wait for it.
    pub(super) async fn start_fsync(
        &self,
        rows: &Transaction,
        version: &Dataset,
    ) -> Result<Option<PendingFsync>> {
        if !self.durability().syncs(self.handle.location()) {
            return Ok(None);
        }
        let (_, base) = self.handle.files().await?;
        Ok(Some(start_fsync(&base, rows, version.manifest())))
    }
}

/// The rows of an upload that defines the columns of the table.
pub(super) async fn with_columns(upload: UploadReader) -> Result<BatchStream> {
    let (schema, rows) = decode(upload).await?;
    for field in schema.fields() {
        check_column(field.name())?;
    }
    Ok(rows)
}

/// The parameters of a write to an existing table.
pub(super) fn onto(dataset: &Dataset, mode: WriteMode) -> WriteParams {
    WriteParams {
        mode,
        enable_stable_row_ids: dataset.manifest().uses_stable_row_ids(),
        session: Some(dataset.session()),
        skip_auto_cleanup: true,
        ..WriteParams::default()
    }
}

/// Lance checks the data against the table while it writes: an error here is an error of the upload.
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
    /// Rows that passed through.
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// The first error of joust, once.
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
