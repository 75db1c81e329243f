//! Idempotent writes.
//!
//! A table with an [`Attempt`] stamps the commits of that request. A later attempt, perhaps of another process, finds
//! the commit of the first one and returns the same answer.

use std::sync::Arc;
use std::time::SystemTime;

use lance_table::format::Fragment;
use lance_table::transaction::{Operation, Transaction};

use super::write::Written;
use super::{Deleted, Merge, Merged, ReadOptions, Table, Updated};
use crate::commit::{RequestStamp, find, unknown_request_outcome};
use crate::error::{Code, Error, Result};

/// A request that takes effect once.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// Unique to the request; its retries have the same id.
    pub id: String,
    /// Start of an earlier attempt whose outcome is unknown.
    pub since: Option<SystemTime>,
}

/// The commit of an earlier attempt.
pub(crate) struct Earlier {
    version: u64,
    /// Rows that the request contained.
    rows: u64,
    operation: Operation,
}

impl Table {
    /// The same table, for the changes of a request that takes effect once. Append, create, overwrite, merge, update,
    /// delete and index builds support this.
    pub fn for_request(&self, attempt: Attempt) -> Self {
        Self {
            attempt: Some(Arc::new(attempt)),
            ..self.clone()
        }
    }

    /// A change of rows that took effect as a version after Lance reported a failure. `rows`: the rows of the request.
    pub(super) async fn confirmed(&self, version: u64, rows: u64) -> Result<Earlier> {
        let newest = self.newest().await?;
        let transaction = newest.read_transaction_by_version(version).await?;
        let transaction = transaction.ok_or_else(unknown_request_outcome)?;
        Ok(Earlier {
            version,
            rows,
            operation: transaction.operation,
        })
    }

    /// An error of the first attempt of a request, after the commit of its change.
    pub(super) fn after_commit(&self, error: Error) -> Error {
        after_commit(error, self.attempt.is_some())
    }

    pub(super) fn stamp(
        &self,
        rows: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Option<RequestStamp> {
        let attempt = self.attempt.as_ref()?;
        Some(RequestStamp::new(&attempt.id, rows))
    }

    /// The commit of an earlier attempt of the request, if there is one.
    pub(crate) async fn earlier(&self) -> Result<Option<Earlier>> {
        let Some((attempt, since)) = self
            .attempt
            .as_ref()
            .and_then(|attempt| Some((attempt, attempt.since?)))
        else {
            return Ok(None);
        };
        match self.newest().await {
            // The table does not exist yet.
            Err(error) if error.code() == Code::TableNotFound => return Ok(None),
            newest => newest?,
        };
        let (store, base) = self.handle.files().await?;
        let Some(found) = find(&store, &base, &attempt.id, since).await? else {
            return Ok(None);
        };
        // The attempt may have ended before its fsync.
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
        // Rows that the earlier fragments lost: replaced and deleted ones.
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
        // Before its first version, a table has no rows.
        if version == 0 {
            return Ok(State {
                rows: 0,
                next_row_id: Some(0),
            });
        }
        let dataset = match self.dataset(ReadOptions::at(version)).await {
            Err(error) if error.code() == Code::TableVersionNotFound => {
                return Err(unknown_request_outcome());
            }
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

/// The counters that distinguish a version from the previous one.
struct State {
    rows: u64,
    /// Grows with each new row of the table; absent where rows have no stable ids.
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

/// With a key, any code but 17 and 18 would say that the request changed nothing: the next request with the key would
/// change the rows again. After code 17 it looks for the commit first. Without a key the code stays, because clients
/// repeat a request after code 17.
fn after_commit(error: Error, has_key: bool) -> Error {
    match error.code() {
        Code::ServiceUnavailable | Code::Internal => error,
        _ if has_key => Error::new(Code::ServiceUnavailable, error.message()),
        _ => error,
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

#[cfg(test)]
mod tests {
    use super::{after_commit, uncounted};
    use crate::error::{Code, Error};

    #[test]
    fn an_error_after_the_commit_lets_the_next_request_with_the_key_look_for_it() {
        let kept = after_commit(uncounted(3), true);
        assert_eq!(kept.code(), Code::ServiceUnavailable);
        assert!(kept.message().contains("took effect as version 3"));
        let without_key = after_commit(uncounted(3), false);
        assert_eq!(without_key.code(), Code::ConcurrentModification);
        let gone = Error::new(Code::TableNotFound, "it was dropped");
        assert_eq!(after_commit(gone, true).code(), Code::ServiceUnavailable);
        let internal = Error::new(Code::Internal, "no");
        assert_eq!(after_commit(internal, true).code(), Code::Internal);
    }
}
