//! One commit for many uploads.
//!
//! What is wrong with one upload must not fail the others. Uploads of one schema are written
//! together; if that fails, each is written alone, and only what fails alone is refused. The same
//! holds for the commit, with one exception: when it is not known whether a commit took place,
//! nothing is tried again, since that could store rows twice.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use futures::FutureExt;
use lance::Dataset;
use lance::dataset::transaction::Transaction;
use lance::dataset::{CommitBuilder, InsertBuilder, WriteMode};

use super::queue::{Rows, Waiting};
use crate::durability::marked;
use crate::error::{Error, Result};
use crate::table::Table;
use crate::table::parts::{is_version_gone, version_gone};
use crate::table::write::{onto, refused};

/// The part of a commit's time that the next one is put off, at most, for clients to come again.
const PATIENCE: u32 = 4;

/// Commits groups until nothing waits.
///
/// Clients that were answered together send their next rows together, a moment after the first of
/// them: who commits at once takes that first one alone, and all the others wait for two commits
/// instead of one. So after a group the next commit waits a little for as many to come again.
pub(super) async fn commit_all(table: Table) {
    let appends = &table.handle.appends;
    while let Some(group) = appends.take() {
        let (size, started) = (group.len(), Instant::now());
        let committed = AssertUnwindSafe(commit(&table, group)).catch_unwind().await;
        if committed.is_err() {
            return appends.abandon();
        }
        if size > 1 {
            appends.await_many(size, started.elapsed() / PATIENCE).await;
        }
    }
}

/// Files that hold the rows of some uploads and that no version names yet.
struct Staged {
    transaction: Transaction,
    uploads: Vec<Waiting>,
}

async fn commit(table: &Table, group: Vec<Waiting>) {
    let newest = match table.changeable().await {
        Ok(newest) => newest,
        Err(error) => return refuse(group, &error),
    };
    let mut staged = Vec::new();
    for (schema, uploads) in by_schema(group, &mut staged) {
        stage(&newest, &schema, uploads, &mut staged).await;
    }
    if staged.len() > 1 {
        match publish(table, newest.clone(), &staged).await {
            Ok(version) => return staged.into_iter().for_each(|one| one.written(version)),
            Err(error) if !may_try_alone(&error) => {
                let error = Error::from(error);
                return staged
                    .into_iter()
                    .for_each(|one| refuse(one.uploads, &error));
            }
            Err(_) => {}
        }
    }
    for one in staged {
        match publish(table, newest.clone(), std::slice::from_ref(&one)).await {
            Ok(version) => one.written(version),
            // Only an upload that wrote files of its own can have taken so long.
            Err(error) if is_version_gone(&error) => refuse(one.uploads, &version_gone()),
            Err(error) => refuse(one.uploads, &refused(error)),
        }
    }
}

/// The uploads in memory, those of one schema together; the others go to `staged` as they are.
fn by_schema(group: Vec<Waiting>, staged: &mut Vec<Staged>) -> Vec<(SchemaRef, Vec<Waiting>)> {
    let mut classes: Vec<(SchemaRef, Vec<Waiting>)> = Vec::new();
    for waiting in group {
        match &waiting.rows {
            Rows::Gathered { schema, .. } => {
                match classes.iter_mut().find(|(known, _)| known == schema) {
                    Some((_, uploads)) => uploads.push(waiting),
                    None => classes.push((schema.clone(), vec![waiting])),
                }
            }
            Rows::Staged { transaction, .. } => staged.push(Staged {
                transaction: transaction.as_ref().clone(),
                uploads: vec![waiting],
            }),
        }
    }
    classes
}

/// Writes the rows of uploads of one schema to files.
async fn stage(
    newest: &Arc<Dataset>,
    schema: &SchemaRef,
    uploads: Vec<Waiting>,
    staged: &mut Vec<Staged>,
) {
    if uploads.len() > 1
        && let Ok(transaction) = write(newest, schema, &uploads).await
    {
        return staged.push(Staged {
            transaction,
            uploads,
        });
    }
    for upload in uploads {
        match write(newest, schema, std::slice::from_ref(&upload)).await {
            Ok(transaction) => staged.push(Staged {
                transaction,
                uploads: vec![upload],
            }),
            Err(error) => upload.refused(error),
        }
    }
}

async fn write(
    newest: &Arc<Dataset>,
    schema: &SchemaRef,
    uploads: &[Waiting],
) -> Result<Transaction> {
    let batches: Vec<&RecordBatch> = uploads
        .iter()
        .flat_map(|upload| match &upload.rows {
            Rows::Gathered { batches, .. } => batches.as_slice(),
            Rows::Staged { .. } => &[],
        })
        .collect();
    // One batch: the writer's cost is per batch, and short uploads hold few rows.
    let rows = concat_batches(schema, batches).map_err(lance::Error::from)?;
    let params = onto(newest, WriteMode::Append);
    InsertBuilder::new(newest.clone())
        .with_params(&params)
        .execute_uncommitted(vec![rows])
        .await
        .map_err(refused)
}

/// Makes all of the files part of the table's next version; its number.
async fn publish(table: &Table, newest: Arc<Dataset>, staged: &[Staged]) -> lance::Result<u64> {
    let transactions = staged.iter().map(|one| one.transaction.clone()).collect();
    let uploads = staged.iter().flat_map(|one| &one.uploads);
    let marks = uploads.filter_map(|upload| upload.mark.clone()).collect();
    let commit = CommitBuilder::new(newest)
        .with_skip_auto_cleanup(true)
        .execute_batch(transactions);
    let commit = marked(marks, commit);
    let committed = table.handle.turns.commit(commit).await?;
    Ok(table.committed(committed.dataset))
}

/// Whether it is certain that nothing was committed, and that the cause may be one of many.
fn may_try_alone(error: &lance::Error) -> bool {
    use lance::Error as L;
    is_version_gone(error)
        || matches!(
            error,
            L::CommitConflict { .. }
                | L::RetryableCommitConflict { .. }
                | L::IncompatibleTransaction { .. }
                | L::TooMuchWriteContention { .. }
                | L::InvalidInput { .. }
                | L::NotSupported { .. }
                | L::SchemaMismatch { .. }
                | L::Schema { .. }
        )
}

impl Staged {
    fn written(self, version: u64) {
        for upload in self.uploads {
            upload.written(version);
        }
    }
}

fn refuse(uploads: Vec<Waiting>, error: &Error) {
    for upload in uploads {
        upload.refused(error.clone());
    }
}
