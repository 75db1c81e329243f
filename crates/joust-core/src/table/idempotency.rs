//! Writes that are made once, however often they are asked for.
//!
//! A table that is told of a request's [`Attempt`] stamps the commits it makes for it, so that a later
//! attempt, perhaps of another process, finds what the first one did and answers as it would have.

use std::future::Future;
use std::sync::Arc;
use std::time::SystemTime;

use lance_table::format::Fragment;
use lance_table::transaction::{Operation, Transaction};

use super::write::Written;
use super::{Deleted, Merge, Merged, ReadOptions, Table, Updated};
use crate::commit::{CommitOutcome, RequestStamp, find, stamped, to_outcome, versions_gone};
use crate::error::{Code, Error, Result};

/// A request that is to take effect once.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// Unique to the request; its repetitions have the same one.
    pub id: String,
    /// An attempt that began at this time may have made the commit, and nobody knows.
    pub since: Option<SystemTime>,
}

/// What an earlier attempt committed.
pub(crate) struct Earlier {
    version: u64,
    /// Rows that the request brought.
    rows: u64,
    operation: Operation,
}

impl Table {
    /// The same table, changed for a request that is to take effect once. Append, create, overwrite,
    /// merge, update, delete and index builds honour that.
    pub fn once(&self, attempt: Attempt) -> Self {
        Self {
            attempt: Some(Arc::new(attempt)),
            ..self.clone()
        }
    }

    /// Does work whose commits take turns with others' and are known again as the request's.
    pub(crate) async fn as_attempt<W: Future>(
        &self,
        rows: impl Fn() -> u64 + Send + Sync + 'static,
        work: W,
    ) -> W::Output {
        match self.stamp(rows) {
            Some(stamp) => {
                self.handle
                    .commit_lock
                    .change(stamped(vec![stamp], work))
                    .await
            }
            None => self.handle.commit_lock.change(work).await,
        }
    }

    /// The same for a change of rows that Lance tries again where others were faster.
    pub(super) async fn as_change<T>(
        &self,
        rows: impl Fn() -> u64 + Send + Sync + 'static,
        work: impl Future<Output = lance::Result<T>>,
    ) -> lance::Result<CommitOutcome<T>> {
        self.as_attempt(rows, to_outcome(work)).await
    }

    /// A change of rows that took effect as a version after Lance had given it up. `rows`: how many the
    /// request brought.
    pub(super) async fn confirmed(&self, version: u64, rows: u64) -> Result<Earlier> {
        let newest = self.newest().await?;
        let transaction = newest.read_transaction_by_version(version).await?;
        Ok(Earlier {
            version,
            rows,
            operation: transaction.ok_or_else(versions_gone)?.operation,
        })
    }

    pub(super) fn stamp(
        &self,
        rows: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Option<RequestStamp> {
        let attempt = self.attempt.as_ref()?;
        Some(RequestStamp::new(&attempt.id, rows))
    }

    /// What an earlier attempt of the request committed, if there was one and it did.
    pub(crate) async fn earlier(&self) -> Result<Option<Earlier>> {
        let Some((attempt, since)) = self
            .attempt
            .as_ref()
            .and_then(|attempt| Some((attempt, attempt.since?)))
        else {
            return Ok(None);
        };
        match self.newest().await {
            // A table that is still to be made.
            Err(error) if error.code() == Code::TableNotFound => return Ok(None),
            newest => newest?,
        };
        let (store, base) = self.handle.files().await?;
        let Some(found) = find(&store, &base, &attempt.id, since).await? else {
            return Ok(None);
        };
        // The attempt may have ended before the disk had it.
        self.durability()
            .has_versions(self.handle.location(), &base)
            .await?;
        Ok(Some(Earlier {
            version: found.version,
            rows: found.rows,
            operation: Transaction::try_from(found.transaction)?.operation,
        }))
    }

    pub(super) async fn deleted_earlier(&self, earlier: &Earlier) -> Result<Deleted> {
        let version = earlier.version;
        let (before, after) = (self.state(version - 1).await?, self.state(version).await?);
        Ok(Deleted {
            version,
            num_deleted_rows: before.rows.saturating_sub(after.rows),
        })
    }

    pub(super) async fn merged_earlier(&self, earlier: &Earlier, merge: &Merge) -> Result<Merged> {
        let version = earlier.version;
        let (before, after) = (self.state(version - 1).await?, self.state(version).await?);
        let written = earlier.rows_written();
        // Rows that the fragments of before lost: replaced ones, and deleted ones.
        let lost = (before.rows + written).saturating_sub(after.rows);
        let inserted = match (before.next_row_id, after.next_row_id) {
            (Some(before), Some(after)) => after.saturating_sub(before),
            _ if !merge.when_not_matched_insert_all => 0,
            _ if !merge.updates() => written,
            _ if !merge.deletes() => written.saturating_sub(lost),
            _ => return Err(uncounted(version)),
        };
        let updated = written.saturating_sub(inserted);
        Ok(Merged {
            version,
            num_inserted_rows: inserted,
            num_updated_rows: updated,
            num_deleted_rows: lost.saturating_sub(updated),
            num_attempts: 1,
            num_rows: earlier.rows,
        })
    }

    async fn state(&self, version: u64) -> Result<State> {
        // Before its first version a table has no rows.
        if version == 0 {
            return Ok(State {
                rows: 0,
                next_row_id: Some(0),
            });
        }
        let dataset = match self.dataset(ReadOptions::at(version)).await {
            Err(error) if error.code() == Code::TableVersionNotFound => return Err(versions_gone()),
            found => found?,
        };
        let manifest = dataset.manifest();
        Ok(State {
            rows: dataset.count_rows(None).await? as u64,
            next_row_id: manifest
                .uses_stable_row_ids()
                .then_some(manifest.next_row_id),
        })
    }
}

/// What tells a version from the one before.
struct State {
    rows: u64,
    /// Grows with each row that is new to the table; absent where rows have no ids of their own.
    next_row_id: Option<u64>,
}

impl Earlier {
    pub fn written(&self) -> Written {
        Written {
            version: self.version,
            num_rows: self.rows,
        }
    }

    pub fn updated(&self) -> Updated {
        Updated {
            version: self.version,
            num_updated_rows: self.rows_written(),
        }
    }

    fn rows_written(&self) -> u64 {
        let fragments: &[Fragment] = match &self.operation {
            Operation::Append { fragments } | Operation::Overwrite { fragments, .. } => fragments,
            Operation::Update { new_fragments, .. } => new_fragments,
            _ => &[],
        };
        let rows = fragments
            .iter()
            .filter_map(|fragment| fragment.physical_rows);
        rows.sum::<usize>() as u64
    }
}

fn uncounted(version: u64) -> Error {
    Error::new(
        Code::ConcurrentModification,
        format!(
            "the request took effect as version {version}; how many rows it \
             inserted and how many it updated is not known any more"
        ),
    )
}
