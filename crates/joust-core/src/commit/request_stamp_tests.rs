//! A store that fails after it has written: the commit counts, once.

use std::sync::Arc;

use lance::Dataset;
use lance::dataset::WriteMode;

use async_trait::async_trait;
use lance_table::io::commit::ManifestLocation;

use super::super::test_handler::{Faked, Step, pipeline};
use super::super::{CommitContext, CommitLock, Handler, Policy, test_handler};
use super::*;

/// Commits, and then says that it has not.
#[derive(Debug)]
struct FailsAfterwards {
    as_conflict: bool,
}

#[async_trait]
impl Step for FailsAfterwards {
    async fn run(&self, commit: Commit<'_>) -> std::result::Result<ManifestLocation, CommitError> {
        commit.by(&ConditionalPutCommitHandler).await?;
        Err(match self.as_conflict {
            true => CommitError::CommitConflict,
            false => CommitError::OtherError(lance::Error::io("the connection was reset")),
        })
    }
}

/// A pipeline whose last step is Lance's.
fn stamping() -> Arc<Handler> {
    Arc::new(pipeline(None, ConditionalPutCommitHandler))
}

/// Writes a row for a request.
async fn append(uri: &str, mode: WriteMode, handler: Arc<dyn CommitHandler>) -> Dataset {
    let stamp = RequestStamp::new("r", || 1);
    let context = CommitContext::new(Policy::Append).stamped(vec![stamp]);
    let insert = test_handler::append(uri, mode, handler);
    CommitLock::default().run(context, insert).await
}

#[tokio::test]
async fn a_commit_that_seemed_to_fail_is_recognized() {
    for as_conflict in [false, true] {
        let place = tempfile::tempdir().unwrap();
        let uri = format!("{}/t.lance", place.path().display());
        append(&uri, WriteMode::Create, stamping()).await;
        let failing = Faked(Arc::new(FailsAfterwards { as_conflict }));
        let failing = Arc::new(pipeline(None, failing));
        let after = append(&uri, WriteMode::Append, failing).await;
        assert_eq!(after.version_id(), 2, "conflict: {as_conflict}");
        assert_eq!(after.count_rows(None).await.unwrap(), 2);
        let newest = Dataset::open(&uri).await.unwrap();
        assert_eq!(newest.version_id(), 2);
    }
}

#[tokio::test]
async fn a_stamp_is_found_in_its_version_and_not_before_its_time() {
    let place = tempfile::tempdir().unwrap();
    let uri = format!("{}/t.lance", place.path().display());
    append(&uri, WriteMode::Create, stamping()).await;
    let mut dataset = append(&uri, WriteMode::Append, stamping()).await;
    // A commit without a request stamp.
    dataset.delete("n > 1").await.unwrap();
    let (store, base) = ObjectStore::from_uri(&uri).await.unwrap();
    let now = SystemTime::now();
    let found = find(&store, &base, "r", now).await.unwrap().unwrap();
    assert_eq!((found.version, found.rows), (2, 1));
    assert!(find(&store, &base, "other", now).await.unwrap().is_none());
    let much_later = now + CLOCK_SKEW + CLOCK_SKEW;
    assert!(
        find(&store, &base, "r", much_later)
            .await
            .unwrap()
            .is_none()
    );
}

/// A branch of a version begins at that version's number.
#[tokio::test]
async fn a_list_that_ends_at_a_branchs_first_version_is_complete() {
    let place = tempfile::tempdir().unwrap();
    let uri = format!("{}/t.lance", place.path().display());
    append(&uri, WriteMode::Create, stamping()).await;
    let mut table = append(&uri, WriteMode::Append, stamping()).await;
    let mut branch = table.create_branch("b", 2, None).await.unwrap();
    let (store, base) = ObjectStore::from_uri(&format!("{uri}/tree/b"))
        .await
        .unwrap();
    let look = async || find(&store, &base, "other", SystemTime::now()).await;
    assert_eq!(branch.version_id(), 2);
    assert!(look().await.unwrap().is_none());
    branch.delete("n > 1").await.unwrap();
    assert!(look().await.unwrap().is_none());
    let first = branch
        .manifest_location()
        .naming_scheme
        .manifest_path(&base, 2);
    store.delete(&first).await.unwrap();
    let gone = look().await.err().unwrap();
    assert_eq!(gone.code(), Code::ConcurrentModification);
}
