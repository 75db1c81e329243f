//! Append: concurrent uploads share one commit.
//!
//! A commit costs milliseconds, whatever its size. So a complete upload waits in the [`Queue`] of its table. A
//! committer takes all queued uploads, writes them as one set of fragments ([`group`]) and commits once
//! ([`group_commit`]). Meanwhile the next group is collected and written. A single client does not wait, and with more
//! clients each commit serves more of them.
//!
//! Long uploads write their own files as they arrive and share only the commit.

mod group;
mod group_commit;
mod queue;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures::FutureExt;
use futures::future::{Either, ready};
use lance::dataset::WriteMode;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tracing::Instrument;

pub(super) use queue::Queue;

use super::Table;
use super::gather::{Gathered, gather, whole};
use super::write::Written;
use crate::blocking_executor::spawn_on_worker;
use crate::error::{Error, Result};
use crate::ipc::{BatchStream, UploadReader, decode};
use crate::memory::Use;
use group::Committer;
use queue::{Answer, Rows, Waiting};

/// Bytes of an upload that are decoded on the calling thread: passing them to another thread takes longer.
const AT_ONCE: usize = 32 << 10;

/// The state of an upload at its end.
enum Arrived {
    /// An earlier attempt of the request committed it.
    Before(Written),
    Short(Rows),
    Long(BatchStream),
}

impl Table {
    /// Adds the upload's rows. Nullable columns that it lacks are filled with nulls.
    pub async fn append(&self, upload: UploadReader) -> Result<Written> {
        self.while_there(async { self.append_arrived(self.arrived(upload).await?).await })
            .await
    }

    /// As [`append`](Self::append), but passes the outcome to a callback on the thread that determines it. A short,
    /// complete upload is queued when this returns, and no task waits for it.
    pub fn append_then(
        &self,
        upload: UploadReader,
        on_outcome: impl FnOnce(Result<Written>) + Send + Sync + 'static,
    ) {
        let answer = Answer::new(on_outcome);
        // A panic drops the answer, which reports it.
        let _ = catch_unwind(AssertUnwindSafe(|| self.append_at_once(upload, answer)));
    }

    fn append_at_once(&self, upload: UploadReader, answer: Answer) {
        let table = self.clone();
        // May access storage: to find the commit of an earlier attempt, and to explain a failure on a branch.
        let may_wait = upload.queued() > AT_ONCE
            || self.rows().is_some()
            || self.handle.branch().is_some()
            || self.attempt.as_ref().is_some_and(|own| own.since.is_some());
        if may_wait {
            let appended = async move { answer.report(table.append(upload).await) };
            tokio::spawn(appended.in_current_span());
            return;
        }
        let mut arrived = Box::pin(async move { table.arrived(upload).await });
        let arrived = match (&mut arrived).now_or_never() {
            Some(Ok(Arrived::Short(rows))) => return self.enqueue(rows, answer),
            Some(arrived) => Either::Left(ready(arrived)),
            None => Either::Right(arrived),
        };
        let table = self.clone();
        let written = async move { table.append_arrived(arrived.await?).await };
        tokio::spawn(async move { answer.report(written.await) }.in_current_span());
    }

    async fn arrived(&self, upload: UploadReader) -> Result<Arrived> {
        if let Some(earlier) = self.earlier().await? {
            return Ok(Arrived::Before(earlier.written()));
        }
        let (_, batches) = decode(upload).await?;
        let batches = match self.rows() {
            Some(rows) => rows.check_inserted(&*self.changeable().await?, batches)?,
            None => batches,
        };
        Ok(match gather(batches).await? {
            // Lance checks the columns of an upload without rows.
            Gathered::Whole {
                schema, batches, ..
            } if batches.is_empty() => Arrived::Long(whole(schema, batches)),
            Gathered::Whole {
                schema,
                batches,
                bytes,
            } => Arrived::Short(Rows::Gathered {
                schema,
                batches,
                bytes,
                _memory: self.tables().memory().take(Use::Upload, bytes).await?,
            }),
            Gathered::Long(batches, _) => Arrived::Long(batches),
        })
    }

    async fn append_arrived(&self, arrived: Arrived) -> Result<Written> {
        match arrived {
            Arrived::Before(written) => Ok(written),
            Arrived::Short(rows) => self.committed_rows(rows).await,
            Arrived::Long(batches) => self.append_long(batches).await,
        }
    }

    async fn append_long(&self, batches: BatchStream) -> Result<Written> {
        let table = self.begun().await?;
        let newest = table.changeable().await?;
        let (transaction, num_rows) = self.stage(&newest, WriteMode::Append, batches).await?;
        self.committed_rows(Rows::Staged {
            transaction: Box::new(transaction),
            version: newest,
            branch: table.began_on,
            num_rows,
        })
        .await
    }

    /// Waits until the rows are committed.
    async fn committed_rows(&self, rows: Rows) -> Result<Written> {
        let (sender, receiver) = oneshot::channel();
        let answer = Answer::new(|outcome| {
            // The caller may have cancelled.
            let _ = sender.send(outcome);
        });
        self.enqueue(rows, answer);
        receiver
            .await
            .unwrap_or_else(|gone| Err(Error::internal("the write could not be completed", gone)))
    }

    fn enqueue(&self, rows: Rows, answer: Answer) {
        let waiting = Waiting::new(rows, |rows| self.stamp(move || rows), answer);
        if self.handle.appends.push(waiting) {
            self.spawn(group::commit_all(Committer::new(self.clone())));
        }
    }

    /// Spawns work that waits for the storage of the table.
    fn spawn<W>(&self, work: W) -> JoinHandle<W::Output>
    where
        W: Future<Output: Send> + Send + 'static,
    {
        match self.handle.is_local() {
            true => spawn_on_worker(work),
            // It mostly waits for the network.
            false => tokio::spawn(work.in_current_span()),
        }
    }
}
