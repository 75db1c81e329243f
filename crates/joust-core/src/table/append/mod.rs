//! Append: rows that arrive together share one commit.
//!
//! A commit costs milliseconds whatever it holds. So an upload, once it is here in full, waits in its
//! table's [`Queue`] for whoever commits; that one takes all that waits, writes it as one set of
//! fragments ([`group`]) and commits once ([`publish`]). While it is at it the next group gathers and is
//! written: one client alone waits for nothing, and the more clients write, the more share a commit.
//!
//! Long uploads write their own files as they arrive and share only the commit.

mod group;
mod publish;
mod queue;

use std::sync::Arc;

use lance::dataset::transaction::Transaction;
use lance::dataset::{InsertBuilder, WriteMode};

pub(super) use queue::Queue;

use super::Table;
use super::gather::{Gathered, gather};
use super::write::{Watch, Written, onto, refused};
use crate::durability::{Settling, settle};
use crate::error::{Error, Result};
use crate::ipc::{BatchStream, UploadReader, ahead, decode};
use crate::memory::Use;
use queue::{Rows, Waiting};

impl Table {
    /// Adds the upload's rows. Nullable columns that it lacks are filled with nulls.
    pub async fn append(&self, upload: UploadReader) -> Result<Written> {
        self.while_there(self.append_rows(upload)).await
    }

    async fn append_rows(&self, upload: UploadReader) -> Result<Written> {
        if let Some(earlier) = self.earlier().await? {
            return Ok(earlier.written());
        }
        let (_, batches) = decode(upload).await?;
        let rows = match gather(batches).await? {
            Gathered::Whole {
                schema,
                batches,
                bytes,
            } => Rows::Gathered {
                schema,
                batches,
                bytes,
                _memory: self.engine().memory().take(Use::Upload, bytes).await?,
            },
            Gathered::Long(batches) => return self.append_long(batches).await,
        };
        self.enqueue(rows).await
    }

    async fn append_long(&self, batches: BatchStream) -> Result<Written> {
        let _memory = self.memory_for_writing().await?;
        let table = self.begun().await?;
        let newest = table.changeable().await?;
        let mut params = onto(&newest, WriteMode::Append);
        params.file_writer_options = self.file_options(&batches.schema());
        let watch = Arc::new(Watch::default());
        let transaction = InsertBuilder::new(newest.clone())
            .with_params(&params)
            .execute_uncommitted_stream(watch.clone().over(ahead(batches)))
            .await
            // A broken upload reaches us through Lance's own errors: the first cause is the true one.
            .map_err(|error| watch.failure().unwrap_or_else(|| refused(error)))?;
        if let Some(settling) = self.settle(&transaction).await? {
            settling.end().await?;
        }
        let num_rows = watch.rows();
        self.enqueue(Rows::Staged {
            transaction: Box::new(transaction),
            version: newest,
            branch: table.began_on,
            num_rows,
        })
        .await
    }

    /// Begins to bring the files of new rows to the disk, where a commit has to wait for that.
    async fn settle(&self, rows: &Transaction) -> Result<Option<Settling>> {
        let synced = self.handle.caches().durability();
        if !synced.syncs(self.handle.location()) {
            return Ok(None);
        }
        let (_, base) = self.handle.files().await?;
        Ok(Some(settle(&base, rows)))
    }

    /// Waits until the rows are committed.
    async fn enqueue(&self, rows: Rows) -> Result<Written> {
        let (waiting, answer) = Waiting::new(rows, |rows| self.mark(move || rows));
        if self.handle.appends.push(waiting)? {
            tokio::spawn(group::commit_all(self.clone()));
        }
        // The committer answers everybody it takes, unless it panics.
        answer
            .await
            .unwrap_or_else(|gone| Err(Error::internal("the write could not be completed", gone)))
    }
}
