//! Merges of a caller with a row filter.
//!
//! The result is that of a merge into a table that has only the visible rows. A key that matches a hidden row matches
//! nothing: an error, or a row that is neither updated nor inserted, would tell the caller that the hidden row exists.
//! So such a row is inserted, and another caller sees two rows with the key. Lance has no unique keys.
//!
//! Lance joins a merge with all rows of the table. If the filter gives a column one value, and the rows of the upload
//! have this value, the column as a further key restricts the join to the visible rows. If all columns of the filter are
//! keys of the merge anyway, a row matches only rows on its own side of the filter, and the rows of the upload are on the
//! visible one.
//!
//! Lance evaluates the condition of an update for matched rows only, and these are visible: if it reads the target. With a
//! deletion all rows of the target are in the join, and Lance evaluates a condition over the source for each of them. So
//! the condition always reads the target here.

use super::Table;
use super::merge::Merge;
use crate::error::{Code, Error, Result};
use crate::ipc::BatchStream;
use crate::schema::expression::Expression;

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
        rows.admit(&dataset, delete).await?;
        if merge.deletes() {
            // A merge reads them in another form than a scan.
            if !rows.condition(&dataset)?.reads_values() {
                return Err(reads_other_forms());
            }
            merge.when_not_matched_by_source_delete_filter = Some(rows.and(delete)?);
        }
        // A match with a hidden row has no effect if matches do nothing and the others are not inserted.
        if !merge.updates() && !merge.when_not_matched_insert_all {
            return Ok((merge, source));
        }
        let keys = match rows.fixed_columns(&dataset) {
            Some(fixed) => fixed,
            None => rows
                .key_columns(&dataset, &merge.on)?
                .ok_or_else(no_deciding_keys)?,
        };
        // The merge refuses an upload without keys.
        if !merge.on.is_empty() {
            let is_own = |key: &String| merge.on.iter().any(|own| own.eq_ignore_ascii_case(key));
            let others = keys.iter().filter(|key| !is_own(key)).cloned();
            let others: Vec<String> = others.collect();
            merge.on.extend(others);
        }
        // Null matches nothing if a merge deletes, so a key of a matched row is never null.
        if let (true, Some(condition), Some(key)) = (
            merge.deletes(),
            &merge.when_matched_update_all_filter,
            keys.first(),
        ) {
            let key = key.replace('`', "``");
            let condition = Expression::new(condition)?;
            merge.when_matched_update_all_filter = Some(format!(
                "target.`{key}` IS NOT NULL AND {}",
                condition.sql()
            ));
        }
        let source = rows.check_inserted(&dataset, source)?;
        Ok((merge, source))
    }
}

fn no_deciding_keys() -> Error {
    Error::new(
        Code::PermissionDenied,
        "the row filter of your grant does not permit this merge: it must have the form `column = value`, with a text or \
         an integer, or each column that it reads must be a text, an integer or a boolean and a key of the merge (`on`); \
         name the columns in `on`, or send an insert or an update",
    )
}

fn reads_other_forms() -> Error {
    Error::new(
        Code::PermissionDenied,
        "the row filter of your grant reads a JSON or blob column, and does not permit a merge that deletes rows: send a \
         delete",
    )
}
