//! Promote columns from a branch to the main branch.

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::UInt64Type;
use futures::{Stream, StreamExt};
use lance::Dataset;
use lance::dataset::{NewColumnTransform, ROW_ID};

use super::Table;
use crate::error::{Code, Error, Result};

impl Table {
    /// Copies columns of a branch's version to the main branch, in one commit; returns its version. Code 14 if the
    /// newest version of either side differs from the given one; code 19 if the two do not have the same rows in the
    /// same order.
    pub async fn promote_columns(
        &self,
        branch: &str,
        columns: &[String],
        main_version: u64,
        branch_version: u64,
    ) -> Result<u64> {
        let main = self.on_branch(None);
        let (mut target, _version) = main.writable().await?;
        let source = self.on_branch(Some(branch)).newest().await?;
        if (target.version_id(), source.version_id()) != (main_version, branch_version) {
            return Err(Error::new(
                Code::ConcurrentModification,
                "the table was changed meanwhile; compare the branches again",
            ));
        }
        let _memory = main.memory_for_change(&source, None).await?;
        let read_ahead = self.tables().memory().budget().read_ahead() as u64;
        if !same_rows(&target, &source, read_ahead).await? {
            return Err(Error::new(
                Code::InvalidTableState,
                "the branches do not have the same rows in the same order",
            ));
        }
        let mut scanner = source.scan();
        scanner.project(columns)?.io_buffer_size(read_ahead);
        let values = scanner.try_into_stream().await?;
        let batch = main.rows_at_once(&source, None);
        target
            .add_columns(NewColumnTransform::Stream(values.into()), None, batch)
            .await?;
        Ok(main.committed(target))
    }
}

/// Whether two datasets have the same rows in the same order.
async fn same_rows(one: &Dataset, other: &Dataset, read_ahead: u64) -> Result<bool> {
    let mut one = row_ids(one, read_ahead).await?;
    let mut other = row_ids(other, read_ahead).await?;
    let (mut left, mut right) = (Vec::new(), Vec::new());
    loop {
        if left.is_empty() {
            left = next(&mut one).await?;
        }
        if right.is_empty() {
            right = next(&mut other).await?;
        }
        let common = left.len().min(right.len());
        if left[..common] != right[..common] {
            return Ok(false);
        }
        if common == 0 {
            return Ok(left.len() == right.len());
        }
        left.drain(..common);
        right.drain(..common);
    }
}

async fn row_ids(
    dataset: &Dataset,
    read_ahead: u64,
) -> Result<impl Stream<Item = lance::Result<RecordBatch>> + Unpin + use<>> {
    let mut scanner = dataset.scan();
    scanner.project::<&str>(&[])?.with_row_id();
    scanner.io_buffer_size(read_ahead);
    Ok(scanner.try_into_stream().await?)
}

/// The row ids of the next batch that is not empty; empty at the end.
async fn next(
    batches: &mut (impl Stream<Item = lance::Result<RecordBatch>> + Unpin),
) -> Result<Vec<u64>> {
    while let Some(batch) = batches.next().await {
        let batch = batch?;
        let ids = batch.column_by_name(ROW_ID);
        if let Some(ids) = ids.filter(|ids| !ids.is_empty()) {
            return Ok(ids.as_primitive::<UInt64Type>().values().to_vec());
        }
    }
    Ok(Vec::new())
}
