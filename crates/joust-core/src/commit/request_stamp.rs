//! The commit layer that stamps transactions with the requests that they are made for.
//!
//! A client that did not receive the reply to its write sends it again, perhaps after the server died between
//! its commit and its reply. Only the table knows the outcome then. So a request may leave its
//! [`RequestStamp`] on the commits that are made for it: a property of the transaction, which is a part of the
//! manifest and therefore exists exactly when the version does. [`find`] searches for it.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use futures::TryStreamExt;
use lance_io::object_store::ObjectStore;
use lance_io::utils::read_message;
use lance_table::format::{Manifest, Transaction, pb};
use lance_table::io::commit::{
    CommitError, CommitHandler, ConditionalPutCommitHandler, ManifestLocation,
};
use lance_table::io::manifest::read_manifest;
use object_store::ObjectStoreExt;
use object_store::path::Path;

use super::fsync_failure::is_fsync_failure;
use super::layer::{Commit, CommitLayer};
use crate::error::{Code, Error, Result};

/// Prefix of the names of such properties, before the request's id.
const PROPERTY: &str = "joust.request.";
/// Clocks of two servers may differ by this much.
const CLOCK_SKEW: Duration = Duration::from_secs(600);
/// How often a failed commit's version is read before its outcome counts as unknown.
const ATTEMPTS: u32 = 3;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(100);

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

tokio::task_local! {
    static STAMPS: Vec<RequestStamp>;
}

/// Runs work whose commits carry these stamps.
pub(crate) fn stamped<W: Future>(
    stamps: Vec<RequestStamp>,
    work: W,
) -> impl Future<Output = W::Output> {
    STAMPS.scope(stamps, work)
}

/// Adds the stamps of the running request to each commit.
#[derive(Debug)]
pub(super) struct StampLayer(pub Arc<dyn CommitHandler>);

#[async_trait]
impl CommitLayer for StampLayer {
    fn inner(&self) -> &dyn CommitHandler {
        self.0.as_ref()
    }

    async fn run(
        &self,
        mut commit: Commit<'_>,
    ) -> std::result::Result<ManifestLocation, CommitError> {
        let stamps = STAMPS.try_with(Clone::clone).unwrap_or_default();
        let stamped = match (stamps.is_empty(), &commit.transaction) {
            (true, _) => None,
            (false, Some(own)) => Some(with_stamps(own.clone(), &stamps)),
            // Lance does not pass on a transaction that is too long for the manifest.
            (false, None) => {
                let refused: Box<dyn std::error::Error + Send + Sync> = Box::new(too_long());
                return Err(CommitError::OtherError(refused.into()));
            }
        };
        if stamped.is_some() {
            commit.transaction = stamped.clone();
        }
        let (store, version) = (commit.object_store, commit.manifest.version);
        let path = commit
            .naming_scheme
            .manifest_path(commit.base_path, version);
        let committed = commit.by(self.inner()).await;
        match (committed, stamped) {
            (Err(error), Some(stamped)) => {
                let is_own =
                    |_: &Manifest, found: Option<&pb::Transaction>| found == Some(&stamped.inner);
                outcome(store, path, version, is_own, error).await
            }
            (committed, _) => committed,
        }
    }
}

fn with_stamps(mut transaction: Transaction, stamps: &[RequestStamp]) -> Transaction {
    let properties = &mut transaction.inner.transaction_properties;
    for stamp in stamps {
        let property = format!("{PROPERTY}{}", stamp.request);
        properties.insert(property, (stamp.rows)().to_string());
    }
    transaction
}

/// Whether a commit that seems to have failed took effect: a store may fail after it has written. Lance checks
/// that too, but does not recognize its transaction with the stamps on it, so it would commit a second time.
/// `is_own`: whether a manifest, with its transaction, belongs to the commit.
pub(super) async fn outcome(
    store: &ObjectStore,
    path: Path,
    version: u64,
    is_own: impl Fn(&Manifest, Option<&pb::Transaction>) -> bool,
    error: CommitError,
) -> std::result::Result<ManifestLocation, CommitError> {
    if is_fsync_failure(&error) {
        return Err(error);
    }
    let mut failure = None;
    for _ in 0..ATTEMPTS {
        match location(store, &path, version).await {
            Ok(None) => return Err(error),
            Ok(Some(location)) => match transaction_of(store, &location).await {
                Ok((manifest, found)) if is_own(&manifest, found.as_ref()) => return Ok(location),
                Ok(_) => return Err(error),
                Err(cause) => failure = Some(cause),
            },
            Err(cause) => failure = Some(cause),
        }
        tokio::time::sleep(BETWEEN_ATTEMPTS).await;
    }
    let Some(cause) = failure else {
        return Err(error);
    };
    let unknown = lance::Error::commit_status_unknown_source(version, Box::new(cause));
    Err(CommitError::OtherError(unknown))
}

async fn location(
    store: &ObjectStore,
    path: &Path,
    version: u64,
) -> lance::Result<Option<ManifestLocation>> {
    match store.inner.head(path).await {
        Ok(found) => Ok(Some(ManifestLocation {
            version,
            ..found.try_into()?
        })),
        Err(object_store::Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A version's manifest and transaction, read without caches: Lance caches transactions without their stamps.
async fn transaction_of(
    store: &ObjectStore,
    location: &ManifestLocation,
) -> lance::Result<(Manifest, Option<pb::Transaction>)> {
    let manifest = read_manifest(store, &location.path, location.size).await?;
    let Some(position) = manifest.transaction_section else {
        return Ok((manifest, None));
    };
    let reader = store.open(&location.path).await?;
    let transaction = read_message(reader.as_ref(), position).await?;
    Ok((manifest, Some(transaction)))
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
        false => Err(versions_gone()),
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

pub(crate) fn versions_gone() -> Error {
    Error::new(
        Code::ConcurrentModification,
        "the versions that would tell whether this request, or the first one of its key, took effect \
         are cleaned up; look at the table, and send what is missing under another key",
    )
}

#[cfg(test)]
#[path = "request_stamp_tests.rs"]
mod tests;
