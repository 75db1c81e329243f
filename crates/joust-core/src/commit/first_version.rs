//! The check that a creation makes the first version.
//!
//! Lance looks for the table again before it commits a new one. If another writer has created it meanwhile, Lance
//! commits the rows as the next version, which replaces those of the other writer without an error.

use lance_table::io::commit::CommitError;
use object_store::path::Path;

use super::policy::Policy;

/// Refuses a creation that would replace a table.
pub(super) fn check(policy: Policy, version: u64, base: &Path) -> Result<(), CommitError> {
    match policy {
        Policy::Create if version > 1 => Err(CommitError::OtherError(
            lance::Error::dataset_already_exists(base.to_string()),
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, RecordBatch};
    use lance::Dataset;
    use lance::dataset::{CommitBuilder, InsertBuilder, WriteParams};
    use lance_table::io::commit::{
        CommitHandler, ConditionalPutCommitHandler, RenameCommitHandler,
    };

    use super::super::manifest::LocalCommit;
    use super::super::test_handler::pipeline;
    use super::super::{CommitContext, CommitLock};
    use super::*;

    fn rows(count: i64) -> Vec<RecordBatch> {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..count));
        vec![RecordBatch::try_from_iter([("n", numbers)]).unwrap()]
    }

    /// Of a local disk, of a bucket, and of Windows.
    #[tokio::test]
    async fn no_commit_of_a_creation_replaces_a_table() {
        for handler in [
            pipeline(None, LocalCommit::new(None)),
            pipeline(None, ConditionalPutCommitHandler),
            pipeline(None, RenameCommitHandler),
        ] {
            let place = tempfile::tempdir().unwrap();
            let uri = place.path().join("t.lance").display().to_string();
            let handler: Arc<dyn CommitHandler> = Arc::new(handler);
            let params = WriteParams {
                commit_handler: Some(handler.clone()),
                ..WriteParams::default()
            };
            let insert = || InsertBuilder::new(uri.as_str()).with_params(&params);
            let late = insert().execute_uncommitted(rows(2)).await.unwrap();
            insert().execute(rows(1)).await.unwrap();
            let commit = CommitBuilder::new(uri.as_str())
                .with_commit_handler(handler.clone())
                .execute(late);
            let context = CommitContext::new(Policy::Create);
            let refused = CommitLock::default().run(context, commit).await;
            let error = refused.map(drop).unwrap_err();
            let is_refused = matches!(error, lance::Error::DatasetAlreadyExists { .. });
            assert!(is_refused, "{error}");
            let table = Dataset::open(&uri).await.unwrap();
            assert_eq!(table.version_id(), 1);
            assert_eq!(table.count_rows(None).await.unwrap(), 1);
        }
    }
}
