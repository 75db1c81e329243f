//! One commit for many uploads.
//!
//! An invalid upload must not fail the others. joust writes uploads of one schema together, as one set of files. If that
//! fails, it writes each upload alone, and rejects only those that fail alone. The
//! [commit](super::group_commit) works in the same way with the sets of files.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use futures::FutureExt;
use futures::future::select;
use lance::Dataset;
use lance::dataset::transaction::Transaction;
use lance::dataset::{InsertBuilder, WriteMode};
use tracing::{Instrument, Span, info_span};

use super::group_commit::{Group, GroupCommits, Staged, refuse};
use super::queue::{Rows, Waiting};
use crate::error::{Error, Result};
use crate::names::unknown_branch;
use crate::storage::LocalWriter;
use crate::table::Table;
use crate::table::current::Current;
use crate::table::stage::{onto, refused};

/// Up to this size of rows, the fsync of their file ends about when the next commit is prepared.
const SHORT: usize = 2 << 20;

/// Commits queued appends for one table. Dropping it early fails the appends still in the queue.
pub(super) struct Committer {
    table: Table,
    is_done: bool,
}

impl Committer {
    pub fn new(table: Table) -> Self {
        let is_done = false;
        Self { table, is_done }
    }
}

impl Drop for Committer {
    fn drop(&mut self) {
        if !self.is_done {
            self.table.handle.appends.abandon();
        }
    }
}

/// Divides the duration of a commit: the longest delay of the next one, in which clients send again.
const PATIENCE: u32 = 2;
/// The longest delay. Clients that send again at once need longer only over slow networks. A long commit may have
/// waited for others, and its clients may have disconnected.
const MOST_PATIENCE: Duration = Duration::from_millis(20);

/// Commits groups until the queue is empty. While one group is committed, the files of the next are written.
///
/// Clients that are answered together send their next rows together, shortly after one another. An immediate commit
/// would contain only the first upload, and all others would wait for two commits instead of one. So the next group
/// starts when as many uploads are queued again, or a short delay after the commit.
pub(super) async fn commit_all(mut committer: Committer) {
    let table = &committer.table;
    let appends = &table.handle.appends;
    let mut commits = GroupCommits::default();
    while let Some(group) = appends.take() {
        let size = group.len();
        // The spans of a group belong to the call of its first upload.
        let call = group
            .first()
            .map_or_else(Span::none, |upload| upload.span.clone());
        let made_ready = async {
            let group = stage_all(table, group).await;
            commits
                .end()
                .instrument(info_span!("wait for previous commit"))
                .await;
            for_newest(table, group?).await
        };
        let made_ready =
            made_ready.instrument(info_span!(parent: &call, "prepare group", uploads = size));
        // A panic drops the answers of the group, which reports it, and affects nothing else.
        let made_ready = AssertUnwindSafe(made_ready).catch_unwind().await;
        commits.end().await;
        let Ok(Some(group)) = made_ready else {
            continue;
        };
        let started = Instant::now();
        call.in_scope(|| commits.begin(table, group));
        let committed = async {
            commits.end().await;
            if size > 1 {
                let patience = MOST_PATIENCE.min(started.elapsed() / PATIENCE);
                tokio::time::sleep(patience).await;
            }
        };
        select(pin!(appends.many(size)), pin!(committed)).await;
    }
    // The queue is empty, and another committer may have started.
    committer.is_done = true;
}

/// Writes the rows of a group to files; `None` if all uploads were rejected.
async fn stage_all(table: &Table, group: Vec<Waiting>) -> Option<Group> {
    // A client that learned of a new column can append to it, whatever is being committed.
    let current = match table.changeable_current().await {
        Ok(current) => current,
        Err(error) => {
            refuse(group, &error);
            return None;
        }
    };
    let version = current.dataset.clone();
    let group = on_this_branch(group, &current);
    let mut staged = Vec::new();
    for (schema, uploads) in by_schema(group, &mut staged) {
        stage(table, &version, &schema, uploads, &mut staged).await;
    }
    (!staged.is_empty()).then_some(Group { version, staged })
}

/// Removes uploads whose files were deleted with their branch. Another branch may have the name by now.
fn on_this_branch(group: Vec<Waiting>, current: &Current) -> Vec<Waiting> {
    let (here, gone): (Vec<_>, Vec<_>) = group.into_iter().partition(|upload| match &upload.rows {
        Rows::Gathered { .. } => true,
        Rows::Staged { branch, .. } => current.is_same_branch(branch.as_ref()),
    });
    let name = current.dataset.manifest().branch.as_deref();
    refuse(gone, &unknown_branch(name.unwrap_or_default()));
    here
}

/// Rewrites the group for the current schema. A commit of files with another schema would succeed, but readers would
/// take their values for those of another column, or for none.
async fn for_newest(table: &Table, group: Group) -> Option<Group> {
    match table.changeable().await {
        Ok(newest) if newest.schema() == group.version.schema() => Some(group),
        _ => {
            let uploads = group.staged.into_iter().flat_map(|one| one.uploads);
            stage_all(table, uploads.collect()).await
        }
    }
}

/// Groups the uploads in memory by schema; adds the others to `staged` unchanged.
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
            Rows::Staged {
                transaction,
                version,
                ..
            } => staged.push(Staged {
                transaction: transaction.as_ref().clone(),
                version: version.clone(),
                pending_fsync: None,
                uploads: vec![waiting],
            }),
        }
    }
    classes
}

/// Writes the rows of uploads of one schema to files.
async fn stage(
    table: &Table,
    newest: &Arc<Dataset>,
    schema: &SchemaRef,
    uploads: Vec<Waiting>,
    staged: &mut Vec<Staged>,
) {
    if uploads.len() > 1
        && let Ok(transaction) = write(table, newest, schema, &uploads).await
    {
        return stage_with_fsync(table, newest, transaction, uploads, staged).await;
    }
    for upload in uploads {
        match write(table, newest, schema, std::slice::from_ref(&upload)).await {
            Ok(transaction) => {
                stage_with_fsync(table, newest, transaction, vec![upload], staged).await;
            }
            Err(error) => upload.refused(error),
        }
    }
}

/// Adds written files to `staged` and starts their fsync. The fsync of the first short file of a group overlaps with the
/// preparation of the commit. An fsync of other files would delay the commits of other writers, or occupy all threads
/// for blocking disk operations.
async fn stage_with_fsync(
    table: &Table,
    version: &Arc<Dataset>,
    transaction: Transaction,
    uploads: Vec<Waiting>,
    staged: &mut Vec<Staged>,
) {
    let may_overlap = is_short(&uploads) && staged.is_empty();
    let pending = async {
        match table.start_fsync(&transaction, version).await? {
            Some(pending) if !may_overlap => {
                pending.end().await.map(|()| None).map_err(Error::from)
            }
            pending => Ok(pending),
        }
    };
    match pending.await {
        Ok(pending) => staged.push(Staged {
            transaction,
            version: version.clone(),
            pending_fsync: pending,
            uploads,
        }),
        Err(error) => refuse(uploads, &error),
    }
}

/// Whether their rows make a short file.
fn is_short(uploads: &[Waiting]) -> bool {
    uploads.iter().map(Waiting::bytes).sum::<usize>() <= SHORT
}

async fn write(
    table: &Table,
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
    // No memory is reserved for the multipart chunks of a long file.
    let version = match is_short(uploads) {
        true => {
            let files = LocalWriter::of(newest.clone(), table.durability()).await?;
            files.version
        }
        false => newest.clone(),
    };
    InsertBuilder::new(version)
        .with_params(&params)
        .execute_uncommitted(vec![rows])
        .await
        .map_err(refused)
}
