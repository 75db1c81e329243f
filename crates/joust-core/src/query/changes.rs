//! The change feed: the rows that differ between two versions of a table.
//!
//! Lance records in which version a row was created and last updated, and gives a row one id for its whole life. So the
//! inserted and updated rows are a scan of the fragments that the later version does not share with the earlier one,
//! and the deleted rows are the ids that only the earlier version has. A row that changed several times is reported
//! once, with its last values.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray, UInt64Array, new_null_array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt64Type};
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt};
use lance::Dataset;
use lance::io::RecordBatchStream;
use lance_core::datatypes::format_field_path;
use lance_core::{ROW_CREATED_AT_VERSION, ROW_ID, ROW_LAST_UPDATED_AT_VERSION};
use lance_table::format::Fragment;

use super::answer::Answer;
use super::fetch::Rows;
use super::row_changes::{ChangedRows, SYSTEM, changed_fragments, check_each, deleted_rows};
use super::visible_changes::VisibleChanges;
use crate::deadline::Deadline;
use crate::error::{Code, Error, Result};
use crate::ipc::Format;
use crate::schema::columns::canonical_column;
use crate::table::{ReadOptions, Table};

/// The column that names the kind of a change.
pub const CHANGE: &str = "_change";
/// Deleted rows of a batch.
const DELETED_ROWS: usize = 1_024;
/// Intervals between two looks at the newest version.
const FIRST_INTERVAL: Duration = Duration::from_millis(100);
const LAST_INTERVAL: Duration = Duration::from_secs(2);

/// Which changes to read.
#[derive(Debug, Clone)]
pub struct ChangeOptions {
    /// Changes after this version. 0: all rows are inserted ones.
    pub from: u64,
    /// The last version; the newest when absent.
    pub to: Option<u64>,
    /// All columns when absent.
    pub columns: Option<Vec<String>>,
    /// How long to wait for a version after `from`, if there is none.
    pub wait: Duration,
    pub format: Format,
    /// Only use a state that was checked after this time.
    pub not_before: Option<SystemTime>,
    /// Do not read up to an older version, if this one exists.
    pub min_version: Option<u64>,
    /// Time that the request has left; no limit of its own when absent.
    pub timeout: Option<Duration>,
}

impl Table {
    /// The changes after a version: Arrow with the columns `_change` (`insert`, `update` or `delete`), `_rowid`,
    /// `_row_last_updated_at_version` and those of the table, all null in a deleted row. Deleted rows are first. The
    /// answer's version is the last one that it covers.
    ///
    /// With a row filter, the changes are those of a table that has only the visible rows.
    ///
    /// Code 11 if a version is cleaned up, 19 if the versions include a change that rows have no record of.
    pub async fn changes(&self, options: ChangeOptions) -> Result<Answer> {
        // The wait for a version is no work, so --query-timeout does not end it.
        let mut request = Deadline::of_request(options.timeout);
        let end = request.spend(self.end_of_changes(&options)).await?;
        let mut deadline = self.tables().query_deadline(None).or_sooner(request);
        let mut answer = deadline.spend(self.changes_to(end, options)).await?;
        answer.set_deadline(deadline);
        Ok(answer)
    }

    /// The last version to read. Waits for one after `from`.
    async fn end_of_changes(&self, options: &ChangeOptions) -> Result<Arc<Dataset>> {
        let until = tokio::time::Instant::now() + options.wait;
        let mut interval = FIRST_INTERVAL;
        let mut not_before = options.not_before;
        loop {
            let read = ReadOptions {
                version: options.to,
                not_before,
                // A cached state may be older than the version that the reader knows.
                min_version: match options.to {
                    Some(_) => options.min_version,
                    None => options.min_version.max(Some(options.from)),
                },
            };
            let end = self.dataset(read).await?;
            let now = tokio::time::Instant::now();
            if options.to.is_some() || end.version_id() > options.from || now >= until {
                return Ok(end);
            }
            tokio::time::sleep(interval.min(until - now)).await;
            interval = (interval * 2).min(LAST_INTERVAL);
            not_before = Some(SystemTime::now());
        }
    }

    async fn changes_to(&self, end: Arc<Dataset>, options: ChangeOptions) -> Result<Answer> {
        let from = options.from;
        if from > end.version_id() {
            return Err(Error::invalid(format!(
                "`from_version` is {from}, and the last version to read is {}; give an older one",
                end.version_id()
            )));
        }
        if !end.manifest().uses_stable_row_ids() {
            return Err(Error::new(
                Code::Unsupported,
                "the rows of this table have no stable ids, so its changes are unknown; copy it into a \
                 table that joust creates",
            ));
        }
        let paths = paths(&end, options.columns.as_deref())?;
        let memory = self.memory_for_query(&end, true, None).await?;
        let mut parts = Vec::new();
        let filter = match self.rows() {
            Some(filter) => Some(filter.expression(&end).await?),
            None => None,
        };
        let mut visible = None;
        let rows = match from {
            0 => ChangedRows {
                fragments: end.fragments().to_vec(),
                after: None,
            },
            _ => {
                let begin = self.begin_of_changes(from).await?;
                let checked = check_each(&end, from + 1..=end.version_id()).await;
                checked.map_err(|error| match (error.code(), self.rows()) {
                    // The kinds of other versions are those of hidden changes, too.
                    (Code::InvalidTableState, Some(_)) => unknown_changes("the versions"),
                    _ => error,
                })?;
                let rows = ChangedRows {
                    fragments: changed_fragments(&begin, &end, &all_fields(&end)),
                    after: Some(from),
                };
                let has_versions = |fragment: &Fragment| {
                    let updated = fragment.last_updated_at_version_meta.as_ref();
                    updated.is_some() && fragment.created_at_version_meta.is_some()
                };
                if !rows.fragments.iter().all(has_versions) {
                    return Err(unknown_changes("the versions"));
                }
                if let (Some(filter), Some(now)) = (self.rows(), &filter) {
                    if !filter.reads_same_columns(&begin, &end)? {
                        return Err(unknown_changes("the columns of the row filter"));
                    }
                    let before = filter.expression(&begin).await?;
                    visible =
                        Some(VisibleChanges::of(&begin, &end, &rows, (before, now.clone())).await?);
                }
                rows
            }
        };
        let rows = rows.scan(&end, &paths, filter).await?;
        let columns = Arc::new(Columns::new(&rows.schema())?);
        match &visible {
            Some(visible) => {
                let ids: UInt64Array = visible.removed.iter().collect::<Vec<_>>().into();
                let ids = stream::iter([Ok(Arc::new(ids) as ArrayRef)]);
                parts.push(deleted(ids, columns.clone()));
            }
            None if from > 0 => {
                let ids = deleted_rows(&end, from).await?;
                let ids = ids.map(|batch| Ok(batch?.column(0).clone()));
                parts.push(deleted(ids, columns.clone()));
            }
            None => {}
        }
        let changed = {
            let columns = columns.clone();
            rows.map(move |batch| {
                let batch = batch.map_err(Error::of_input)?;
                columns.changed(&batch, |id, created| match &visible {
                    Some(visible) => !visible.before.contains(id),
                    None => created > from,
                })
            })
        };
        parts.push(changed.boxed());
        let rows = Rows {
            schema: columns.schema.clone(),
            batches: stream::iter(parts).flatten().boxed(),
        };
        Answer::of_rows(rows, end, options.format, memory)
    }
}

/// The columns of a feed.
struct Columns {
    schema: SchemaRef,
}

impl Columns {
    /// `scanned`: the columns of the table, and those of Lance.
    fn new(scanned: &Schema) -> Result<Self> {
        let mut fields = vec![
            Field::new(CHANGE, DataType::Utf8, false),
            Field::new(ROW_ID, DataType::UInt64, false),
            Field::new(ROW_LAST_UPDATED_AT_VERSION, DataType::UInt64, true),
        ];
        for field in scanned.fields() {
            if SYSTEM.contains(&field.name().as_str()) {
                continue;
            }
            if field.name() == CHANGE {
                return Err(Error::invalid(format!(
                    "the changes have a column `{CHANGE}` themselves; leave the table's out of `columns`"
                )));
            }
            fields.push(field.as_ref().clone().with_nullable(true));
        }
        let metadata = scanned.metadata().clone();
        Ok(Self {
            schema: Arc::new(Schema::new_with_metadata(fields, metadata)),
        })
    }

    /// Deleted rows: only their ids are known.
    fn deleted(&self, ids: ArrayRef) -> Result<RecordBatch> {
        let rows = ids.len();
        let mut columns: Vec<ArrayRef> = vec![kinds(rows, |_| "delete"), ids];
        let others = self.schema.fields().iter().skip(columns.len());
        columns.extend(others.map(|field| new_null_array(field.data_type(), rows)));
        Ok(RecordBatch::try_new(self.schema.clone(), columns)?)
    }

    /// Rows that were created or updated. `is_new`: whether a row is an inserted one, by its id and the version that
    /// created it.
    fn changed(
        &self,
        batch: &RecordBatch,
        is_new: impl Fn(u64, u64) -> bool,
    ) -> Result<RecordBatch> {
        let column = |name: &str| {
            let column = batch.column_by_name(name);
            column.ok_or_else(|| Error::invalid(format!("the scan lacks the column `{name}`")))
        };
        let created = column(ROW_CREATED_AT_VERSION)?;
        let created = created.as_primitive::<UInt64Type>();
        let ids = column(ROW_ID)?.as_primitive::<UInt64Type>();
        let kinds = kinds(batch.num_rows(), |row| {
            match is_new(ids.value(row), created.value(row)) {
                true => "insert",
                false => "update",
            }
        });
        let mut columns = vec![kinds];
        for field in self.schema.fields().iter().skip(1) {
            columns.push(column(field.name())?.clone());
        }
        Ok(RecordBatch::try_new(self.schema.clone(), columns)?)
    }
}

fn all_fields(dataset: &Dataset) -> HashSet<i32> {
    let fields = dataset.schema().fields_pre_order();
    fields.map(|field| field.id).collect()
}

fn kinds(rows: usize, kind: impl Fn(usize) -> &'static str) -> ArrayRef {
    Arc::new(StringArray::from_iter_values((0..rows).map(kind)))
}

/// Field paths of the requested columns.
fn paths(dataset: &Dataset, named: Option<&[String]>) -> Result<Vec<String>> {
    match named {
        Some(named) => {
            let paths = named.iter().map(|name| canonical_column(dataset, name));
            paths.collect()
        }
        None => {
            let fields = dataset.schema().fields.iter();
            let paths = fields.map(|field| format_field_path(&[field.name.as_str()]));
            Ok(paths.collect())
        }
    }
}

/// Deleted rows by their ids, a few at a time: a null may take as much memory as a value.
fn deleted(
    ids: impl Stream<Item = Result<ArrayRef>> + Send + 'static,
    columns: Arc<Columns>,
) -> BoxStream<'static, Result<RecordBatch>> {
    let few = ids.flat_map(|ids| {
        let (ids, error) = match ids {
            Ok(ids) => (Some(ids), None),
            Err(error) => (None, Some(Err(error))),
        };
        let slices = ids.into_iter().flat_map(|ids| {
            let firsts = (0..ids.len()).step_by(DELETED_ROWS);
            firsts.map(move |first| Ok(ids.slice(first, DELETED_ROWS.min(ids.len() - first))))
        });
        stream::iter(slices.chain(error))
    });
    few.map(move |ids| columns.deleted(ids?)).boxed()
}

fn unknown_changes(what: &str) -> Error {
    Error::new(
        Code::InvalidTableState,
        format!(
            "{what} include a change that the rows do not record: read all rows with `from_version` 0, \
             and continue from there"
        ),
    )
}
