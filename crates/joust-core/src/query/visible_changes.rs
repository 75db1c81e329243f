//! The changes of the rows that a row filter admits.
//!
//! For its caller, a row that meets the filter only now is inserted, and a row that no longer meets it is deleted.

use std::sync::Arc;

use datafusion::prelude::Expr;
use futures::TryStreamExt;
use lance::Dataset;
use lance::dataset::scanner::DatasetRecordBatchStream;
use lance_core::ROW_ID;
use roaring::RoaringTreemap;

use super::row_changes::{ChangedRows, deleted_rows, former_fragments, numbers};
use crate::error::{Error, Result};

/// Ids of rows that have changed between two versions.
pub(super) struct VisibleChanges {
    /// Rows that were visible in the earlier version.
    pub before: RoaringTreemap,
    /// Those of them that are deleted, or hidden now.
    pub removed: RoaringTreemap,
}

impl VisibleChanges {
    /// `changed`: the rows of `end` that may differ from those of `begin`. `filters`: the row filter, for either version.
    pub async fn of(
        begin: &Arc<Dataset>,
        end: &Arc<Dataset>,
        changed: &ChangedRows,
        (filter_of_begin, filter_of_end): (Expr, Expr),
    ) -> Result<Self> {
        let former = ChangedRows {
            fragments: former_fragments(begin, end),
            after: None,
        };
        let before = ids(former.scan(begin, &[], Some(filter_of_begin)).await?).await?;
        let mut removed = ids(changed.scan(end, &[], None).await?).await?;
        removed -= ids(changed.scan(end, &[], Some(filter_of_end)).await?).await?;
        removed |= ids(deleted_rows(end, begin.version_id()).await?).await?;
        removed &= &before;
        Ok(Self { before, removed })
    }
}

async fn ids(mut rows: DatasetRecordBatchStream) -> Result<RoaringTreemap> {
    let mut ids = RoaringTreemap::new();
    while let Some(batch) = rows.try_next().await.map_err(Error::of_input)? {
        ids.extend(numbers(&batch, ROW_ID)?.iter().copied());
    }
    Ok(ids)
}
