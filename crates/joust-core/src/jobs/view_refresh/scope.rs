//! The rows that a refresh has to compute: those of its source that differ from the version of the last refresh.

use std::borrow::Cow;
use std::sync::Arc;

use futures::TryStreamExt;
use lance::Dataset;
use lance_core::datatypes::Schema;
use lance_core::{ROW_CREATED_AT_VERSION, ROW_ID};
use roaring::RoaringTreemap;

use super::read_columns::ReadColumns;
use super::shape::Shape;
use super::state::{ReadVersion, State};
use crate::error::{Code, Result};
use crate::query::{
    ChangedRows, Record, changed_fragments, deleted_rows, former_fragments, numbers, record_of,
};
use crate::table::Table;

/// The most versions since the last refresh: the transaction of each is read.
const MOST_VERSIONS: u64 = 1_000;
/// If more rows than this have changed, and half of the source, a refresh computes all rows.
const MANY_ROWS: u64 = 100_000;
/// The most changed rows of an incremental refresh: their ids are kept in memory.
const MOST_ROWS: u64 = 4_000_000;

/// The rows that a refresh has to compute.
#[derive(Debug)]
pub enum Scope {
    /// The view is up to date.
    Nothing,
    Changed(Changes),
    /// All, with the reason.
    All(Cow<'static, str>),
}

/// The rows of a source that differ from the version of the last refresh.
#[derive(Debug)]
pub struct Changes {
    /// Those that the view's query has to read.
    pub rows: ChangedRows,
    /// The version of the last refresh.
    pub begin: Arc<Dataset>,
    /// The ids of the view's rows are greater by this than those of the source.
    pub row_id_base: u64,
}

impl Scope {
    /// The scope of a refresh up to `end`, a version of the only `source` of a row-wise query. `read`: its columns that
    /// the query reads.
    pub async fn of(
        shape: &Shape,
        read: &ReadColumns,
        state: Option<&State>,
        source: &Table,
        end: &Arc<Dataset>,
    ) -> Result<Self> {
        let all = |reason: &'static str| Ok(Self::All(reason.into()));
        if let Shape::Whole(reason) = shape {
            return all(reason);
        }
        let last = state.and_then(|state| match (state.sources.as_slice(), shape) {
            ([last], Shape::RowWise | Shape::Expanded) => Some((last, state.row_id_base?)),
            ([last], _) => Some((last, 0)),
            _ => None,
        });
        let Some((last, row_id_base)) = last else {
            return all(
                "no refresh has recorded which rows of the source the view's rows come from",
            );
        };
        if *last == ReadVersion::of(end) {
            return Ok(Self::Nothing);
        }
        let (from, to) = (last.version, end.version_id());
        if to <= from {
            return all("the source's version is older than the one of the last refresh");
        }
        if to - from > MOST_VERSIONS {
            return all("the source has too many versions since the last refresh");
        }
        let begin = match source.begin_of_changes(from).await {
            Err(error) if error.code() == Code::TableVersionNotFound => {
                return all("the source's version of the last refresh is cleaned up");
            }
            begin => begin?,
        };
        if ReadVersion::of(&begin) != *last {
            return all("the source is another table than at the last refresh");
        }
        if !begin.manifest().uses_stable_row_ids() || !end.manifest().uses_stable_row_ids() {
            return all("the rows of the source have no stable ids");
        }
        if !has_columns_of(begin.schema(), end.schema(), read) {
            return all("a column of the source that the query reads has changed");
        }
        let record = match record_of(end, from + 1..=to).await {
            Err(error) if error.code() == Code::InvalidTableState => {
                return all(
                    "the source was restored or overwritten, so its rows do not show what changed",
                );
            }
            Err(error) if error.code() == Code::TableVersionNotFound => {
                return all("a version of the source since the last refresh is cleaned up");
            }
            record => record?,
        };
        let fragments = changed_fragments(&begin, end, &read.ids(end));
        // Lance does not record changes in place for rows that an old version of it wrote.
        let is_recorded = record == Record::Rows
            && fragments
                .iter()
                .all(|fragment| fragment.last_updated_at_version_meta.is_some());
        let rows = ChangedRows {
            fragments,
            after: is_recorded.then_some(from),
        };
        Ok(Self::Changed(Changes {
            rows,
            begin,
            row_id_base,
        }))
    }
}

impl Changes {
    /// The rows of the source that changed or are deleted; `None`: they are most rows.
    ///
    /// Rows that are new to the source are among them. A view over a view may have them, because a full refresh of the
    /// source makes new rows of all.
    pub async fn replaced(&self, end: &Arc<Dataset>) -> Result<Option<ReplacedRows>> {
        let from = self.begin.version_id();
        let total = end.count_rows(None).await? as u64;
        let most = (total / 2).clamp(MANY_ROWS, MOST_ROWS);
        let mut replaced = ReplacedRows {
            ids: RoaringTreemap::new(),
            only_new: true,
        };
        let mut changed = self.rows.scan(end, &[], None).await?;
        while let Some(batch) = changed.try_next().await? {
            let created = numbers(&batch, ROW_CREATED_AT_VERSION)?;
            let ids = numbers(&batch, ROW_ID)?;
            // A row that left a view and entered it again has a new version and its former id.
            replaced.only_new &= created.iter().all(|version| *version > from)
                && ids
                    .iter()
                    .all(|id| *id >= self.begin.manifest().next_row_id);
            replaced.ids.extend(ids.iter().copied());
            if replaced.ids.len() > most {
                return Ok(None);
            }
        }
        let mut deleted = deleted_rows(end, from).await?;
        while let Some(batch) = deleted.try_next().await? {
            let ids = numbers(&batch, ROW_ID)?;
            replaced.only_new &= ids.is_empty();
            replaced.ids.extend(ids.iter().copied());
            if replaced.ids.len() > most {
                return Ok(None);
            }
        }
        Ok(Some(replaced))
    }

    /// The fragments of the last refresh in which rows were that are changed or deleted in `end`.
    pub fn former_rows(&self, end: &Dataset) -> ChangedRows {
        ChangedRows {
            fragments: former_fragments(&self.begin, end),
            after: None,
        }
    }
}

/// Rows of a source that changed or are deleted.
pub struct ReplacedRows {
    pub ids: RoaringTreemap,
    /// All of them are new since the last refresh.
    pub only_new: bool,
}

/// Whether all these columns of a later version were columns of the earlier one, under the same names.
fn has_columns_of(earlier: &Schema, later: &Schema, columns: &ReadColumns) -> bool {
    let read = later
        .fields
        .iter()
        .filter(|field| columns.contains(&field.name));
    let mut fields: Vec<_> = read.collect();
    while let Some(field) = fields.pop() {
        let known = earlier.field_by_id(field.id);
        let is_same = known.is_some_and(|known| {
            known.name == field.name
                && known.logical_type == field.logical_type
                && known.parent_id == field.parent_id
        });
        if !is_same {
            return false;
        }
        fields.extend(&field.children);
    }
    true
}
