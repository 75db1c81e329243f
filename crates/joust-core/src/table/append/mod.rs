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

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures::FutureExt;
use futures::future::{Either, ready};
use lance::dataset::WriteMode;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

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

/// Bytes of an upload that are read on the thread of who brings it: to have another one do so takes longer.
const AT_ONCE: usize = 32 << 10;

/// What has become of an upload by the time that its end is here.
enum Arrived {
    /// An earlier attempt of the request has made the commit.
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

    /// The same for one who is told the outcome, on whichever thread knows it. A short upload that is here in
    /// full waits for its commit when this returns, and no task waits with it.
    pub fn append_then(
        &self,
        upload: UploadReader,
        told: impl FnOnce(Result<Written>) + Send + Sync + 'static,
    ) {
        let answer = Answer::new(told);
        // A panic is told by the end of the answer.
        let _ = catch_unwind(AssertUnwindSafe(|| self.append_at_once(upload, answer)));
    }

    fn append_at_once(&self, upload: UploadReader, answer: Answer) {
        let table = self.clone();
        // The storage is asked what an earlier attempt did, and what a failure means on a branch.
        let may_wait = upload.queued() > AT_ONCE
            || self.handle.branch().is_some()
            || self.attempt.as_ref().is_some_and(|own| own.since.is_some());
        if may_wait {
            tokio::spawn(async move { answer.tell(table.append(upload).await) });
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
        tokio::spawn(async move { answer.tell(written.await) });
    }

    async fn arrived(&self, upload: UploadReader) -> Result<Arrived> {
        if let Some(earlier) = self.earlier().await? {
            return Ok(Arrived::Before(earlier.written()));
        }
        let (_, batches) = decode(upload).await?;
        Ok(match gather(batches).await? {
            // Lance looks whether the columns of an upload without rows fit.
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
        let (tell, told) = oneshot::channel();
        let answer = Answer::new(|outcome| {
            // Who has gone does not hear it.
            let _ = tell.send(outcome);
        });
        self.enqueue(rows, answer);
        told.await
            .unwrap_or_else(|gone| Err(Error::internal("the write could not be completed", gone)))
    }

    fn enqueue(&self, rows: Rows, answer: Answer) {
        let waiting = Waiting::new(rows, |rows| self.stamp(move || rows), answer);
        if self.handle.appends.push(waiting) {
            self.spawn(group::commit_all(Committer::new(self.clone())));
        }
    }

    /// Begins work that waits for the table's storage.
    fn spawn<W>(&self, work: W) -> JoinHandle<W::Output>
    where
        W: Future<Output: Send> + Send + 'static,
    {
        match self.handle.is_local() {
            true => spawn_on_worker(work),
            // Most of its time it waits, for a network.
            false => tokio::spawn(work),
        }
    }
}
