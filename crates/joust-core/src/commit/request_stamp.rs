//! The request stamp: a transaction names the requests for which it is made.
//!
//! A client that did not receive the reply to its write sends it again, perhaps after the server died between
//! its commit and its reply. Only the table knows the outcome then. So a request may leave its
//! [`RequestStamp`] on the commits that are made for it: a property of the transaction, which is a part of the
//! manifest and therefore exists exactly when the version does. [`find`] searches for it.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures::TryStreamExt;
use lance_io::object_store::ObjectStore;
use lance_table::format::{Manifest, Transaction, pb};
use lance_table::io::commit::{CommitError, CommitHandler, ConditionalPutCommitHandler};
use object_store::path::Path;

use super::arguments::Commit;
use super::outcome::transaction_of;
use crate::error::{Code, Error, Result};

/// Prefix of the names of such properties, before the request's id.
const PROPERTY: &str = "joust.request.";
/// Clocks of two servers may differ by this much.
const CLOCK_SKEW: Duration = Duration::from_secs(600);

/// The property that names one request of a commit.
#[derive(Clone)]
pub(crate) struct RequestStamp {
    request: String,
    rows: Arc<dyn Fn() -> u64 + Send + Sync>,
}

impl RequestStamp {
    /// `rows`: the rows of the request, read when the commit is made.
    pub fn new(request: &str, rows: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self {
            request: request.to_string(),
            rows: Arc::new(rows),
        }
    }
}

/// Adds the stamps to the transaction of a commit; returns the stamped transaction, if there are any stamps.
pub(super) fn stamp(
    commit: &mut Commit<'_>,
    stamps: &[RequestStamp],
) -> std::result::Result<Option<Transaction>, CommitError> {
    if stamps.is_empty() {
        return Ok(None);
    }
    // Lance does not pass on a transaction that is too long for the manifest.
    let Some(transaction) = commit.transaction.take() else {
        let refused: Box<dyn std::error::Error + Send + Sync> = Box::new(too_long());
        return Err(CommitError::OtherError(refused.into()));
    };
    commit.transaction = Some(with_stamps(transaction, stamps));
    Ok(commit.transaction.clone())
}

fn with_stamps(mut transaction: Transaction, stamps: &[RequestStamp]) -> Transaction {
    let properties = &mut transaction.inner.transaction_properties;
    for stamp in stamps {
        let property = format!("{PROPERTY}{}", stamp.request);
        properties.insert(property, (stamp.rows)().to_string());
    }
    transaction
}

/// A version that was committed for a request.
pub(crate) struct Found {
    pub version: u64,
    /// Rows of the request.
    pub rows: u64,
    pub transaction: pb::Transaction,
}

/// The version of the table (or branch) at `base` that carries a request's stamp, if one was committed since
/// `since`. Code 14 when versions of that time were cleaned up, that is, when the list does not reach back to the
/// first version of the table or branch.
pub(crate) async fn find(
    store: &ObjectStore,
    base: &Path,
    request: &str,
    since: SystemTime,
) -> Result<Option<Found>> {
    let property = format!("{PROPERTY}{request}");
    let since = since
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .saturating_sub(CLOCK_SKEW)
        .as_nanos();
    let mut versions = ConditionalPutCommitHandler.list_manifest_locations(base, store, true);
    let mut is_complete = true;
    while let Some(location) = versions.try_next().await? {
        let (manifest, transaction) = transaction_of(store, &location).await?;
        is_complete = is_first(&manifest, transaction.as_ref());
        let rows = transaction
            .as_ref()
            .and_then(|one| one.transaction_properties.get(&property)?.parse().ok());
        if let (Some(rows), Some(transaction)) = (rows, transaction) {
            return Ok(Some(Found {
                version: manifest.version,
                rows,
                transaction,
            }));
        }
        if manifest.timestamp_nanos < since {
            return Ok(None);
        }
    }
    match is_complete {
        true => Ok(None),
        false => Err(unknown_request_outcome()),
    }
}

/// Whether a version is the first one of its table or branch. A branch and a cloned table start at the version
/// number of their source.
fn is_first(manifest: &Manifest, transaction: Option<&pb::Transaction>) -> bool {
    use pb::transaction::Operation;
    let change = transaction.and_then(|change| change.operation.as_ref());
    manifest.version == 1 || matches!(change, Some(Operation::Clone(_)))
}

fn too_long() -> Error {
    Error::invalid(
        "the change is too large to be made with a request's key; send it in smaller parts, or \
         without a key",
    )
}

pub(crate) fn unknown_request_outcome() -> Error {
    Error::new(
        Code::ConcurrentModification,
        "the outcome of this request, or of the first one of its key, is unknown, because version clean-up \
         removed the versions that show it: read the table before you send it again under another key",
    )
}

#[cfg(test)]
#[path = "request_stamp_tests.rs"]
mod tests;
