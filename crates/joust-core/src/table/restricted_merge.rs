//! Merges of a caller with a row filter.
//!
//! The result is that of a merge into a table that has only the visible rows. A key that matches a hidden row matches
//! nothing: an error, or a row that is neither updated nor inserted, would tell the caller that the hidden row exists.
//! So such a row is inserted, and another caller sees two rows with the key. Lance has no unique keys.
//!
//! Lance joins a merge with all rows of the table. If the filter gives a column one value, and the rows of the upload
//! have this value, the column as a further key restricts the join to the visible rows. Lance evaluates the condition of
//! an update for matched rows only, and these are visible.

use super::Table;
use super::merge::Merge;
use crate::error::{Code, Error, Result};
use crate::ipc::BatchStream;

impl Table {
    /// A merge and its rows, restricted to the rows that the caller may use. Code 15 if the filter does not permit the
    /// merge; the stream ends with the same code at the first row that the filter hides.
    pub(super) async fn restricted_merge(
        &self,
        mut merge: Merge,
        source: BatchStream,
    ) -> Result<(Merge, BatchStream)> {
        let Some(rows) = self.rows() else {
            return Ok((merge, source));
        };
        let dataset = self.changeable().await?;
        let delete = merge.when_not_matched_by_source_delete_filter.as_deref();
        let delete = delete.filter(|condition| !condition.trim().is_empty());
        rows.admit(&dataset, delete).await?;
        if merge.deletes() {
            merge.when_not_matched_by_source_delete_filter = Some(rows.and(delete)?);
        }
        // A match with a hidden row has no effect if matches do nothing and the others are not inserted.
        if !merge.updates() && !merge.when_not_matched_insert_all {
            return Ok((merge, source));
        }
        let keys = rows.fixed_columns(&dataset).ok_or_else(no_fixed_columns)?;
        // The merge refuses an upload without keys.
        if !merge.on.is_empty() {
            let is_own = |key: &String| merge.on.iter().any(|own| own.eq_ignore_ascii_case(key));
            let keys: Vec<String> = keys.into_iter().filter(|key| !is_own(key)).collect();
            merge.on.extend(keys);
        }
        let source = rows.check_inserted(&dataset, source)?;
        Ok((merge, source))
    }
}

fn no_fixed_columns() -> Error {
    Error::new(
        Code::PermissionDenied,
        "the row filter of your grant does not permit a merge that updates or inserts rows: it must have the form \
         `column = value`, with a text or an integer; send an insert or an update",
    )
}
