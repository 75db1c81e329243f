//! The rows of an upload, written to files that no version names yet.
//!
//! It has no turn of the table meanwhile: an upload takes as long as its client does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use datafusion::error::DataFusionError;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::StreamExt;
use lance::Dataset;
use lance::dataset::transaction::Transaction;
use lance::dataset::{InsertBuilder, WriteDestination, WriteMode, WriteParams};
use parking_lot::Mutex;

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
    /// Writes rows for a commit to a version, and waits until the disk has them where the commit would; the
    /// change that names their files, and how many they are. A failure leaves no more than files that no
    /// version names.
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

    /// Writes the first rows of a table, as [`stage`](Self::stage) does; the disk has them with the commit.
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
            .await
            // A broken upload reaches us through Lance's own errors: the first cause is the true one.
            .map_err(|error| watch.failure().unwrap_or_else(|| refused(error)))?;
        Ok((transaction, watch.rows()))
    }

    /// Begins to bring the files of new rows to the disk, where a commit has to wait for that.
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

/// The rows of an upload that says what columns the table has.
pub(super) async fn with_columns(upload: UploadReader) -> Result<BatchStream> {
    let (schema, rows) = decode(upload).await?;
    for field in schema.fields() {
        check_column(field.name())?;
    }
    Ok(rows)
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
