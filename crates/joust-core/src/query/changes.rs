//! The change feed: the rows that differ between two versions of a table.
//!
//! Lance records in which version a row was created and last updated, and gives a row one id for its whole life. So the
//! inserted and updated rows are a scan of the fragments that the later version does not share with the earlier one,
//! and the deleted rows are the ids that only the earlier version has. A row that changed several times is reported
//! once, with its last values.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray, new_null_array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt64Type};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use lance::Dataset;
use lance::dataset::scanner::DatasetRecordBatchStream;
use lance::dataset::transaction::{Operation, Transaction};
use lance::io::RecordBatchStream;
use lance_core::datatypes::format_field_path;
use lance_core::{ROW_CREATED_AT_VERSION, ROW_ID, ROW_LAST_UPDATED_AT_VERSION};
use lance_datafusion::exec::{LanceExecutionOptions, execute_plan};
use lance_table::format::Fragment;

use super::answer::Answer;
use super::fetch::Rows;
use crate::deadline::Deadline;
use crate::error::{Code, Error, Result};
use crate::ipc::Format;
use crate::json::guarded;
use crate::schema::columns::canonical_column;
use crate::table::{ReadOptions, Table};

/// The column that names the kind of a change.
pub const CHANGE: &str = "_change";
/// The columns of Lance that a scan adds.
const SYSTEM: [&str; 3] = [ROW_ID, ROW_CREATED_AT_VERSION, ROW_LAST_UPDATED_AT_VERSION];
/// Bytes of a batch, independent of the row width.
const BATCH_BYTES: u64 = 4 << 20;
/// Manifests that are read at the same time.
const MANIFESTS_AT_ONCE: usize = 8;
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
        let rows = match from {
            0 => scan(&end, from, &paths, None).await?,
            _ => {
                let begin = self.begin_of_changes(from).await?;
                check_versions(&end, from).await?;
                scan(&end, from, &paths, Some(changed_fragments(&begin, &end))).await?
            }
        };
        let columns = Arc::new(Columns::new(&rows.schema())?);
        if from > 0 {
            parts.push(deleted(&end, from, columns.clone()).await?);
        }
        let changed = {
            let columns = columns.clone();
            rows.map(move |batch| columns.changed(&batch.map_err(Error::of_input)?, from))
        };
        parts.push(changed.boxed());
        let rows = Rows {
            schema: columns.schema.clone(),
            batches: stream::iter(parts).flatten().boxed(),
        };
        Answer::of_rows(rows, end, options.format, memory)
    }

    async fn begin_of_changes(&self, version: u64) -> Result<Arc<Dataset>> {
        let options = ReadOptions {
            version: Some(version),
            ..ReadOptions::default()
        };
        let begin = self.dataset(options).await;
        begin.map_err(|error| match error.code() {
            Code::TableVersionNotFound => cleaned_up(version),
            _ => error,
        })
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

    /// Rows that were created or updated after `from`.
    fn changed(&self, batch: &RecordBatch, from: u64) -> Result<RecordBatch> {
        let column = |name: &str| {
            let column = batch.column_by_name(name);
            column.ok_or_else(|| Error::invalid(format!("the scan lacks the column `{name}`")))
        };
        let created = column(ROW_CREATED_AT_VERSION)?;
        let created = created.as_primitive::<UInt64Type>();
        let kinds = kinds(batch.num_rows(), |row| match created.value(row) > from {
            true => "insert",
            false => "update",
        });
        let mut columns = vec![kinds];
        for field in self.schema.fields().iter().skip(1) {
            columns.push(column(field.name())?.clone());
        }
        Ok(RecordBatch::try_new(self.schema.clone(), columns)?)
    }
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

/// The ids that version `from` has and `end` has not.
async fn deleted(
    end: &Arc<Dataset>,
    from: u64,
    columns: Arc<Columns>,
) -> Result<BoxStream<'static, Result<RecordBatch>>> {
    let delta = end
        .delta()
        .with_begin_version(from)
        .with_end_version(end.version_id())
        .build()?;
    let ids = delta.get_deleted_row_ids().await?;
    let batches = ids.map(move |batch| columns.deleted(batch?.column(0).clone()));
    Ok(batches.boxed())
}

/// The rows of `end` that were created or updated after `from`, in some fragments or in all.
async fn scan(
    end: &Arc<Dataset>,
    from: u64,
    paths: &[String],
    fragments: Option<Vec<Fragment>>,
) -> Result<DatasetRecordBatchStream> {
    let mut scanner = end.scan();
    scanner.batch_size_bytes(BATCH_BYTES);
    let is_empty = fragments.as_ref().is_some_and(Vec::is_empty);
    if let Some(fragments) = fragments.filter(|fragments| !fragments.is_empty()) {
        scanner.with_fragments(fragments);
    }
    let paths = paths.iter().map(String::as_str).chain(SYSTEM);
    scanner.project(&paths.collect::<Vec<_>>())?;
    if from > 0 {
        scanner.filter(&format!(
            "{ROW_CREATED_AT_VERSION} > {from} OR {ROW_LAST_UPDATED_AT_VERSION} > {from}"
        ))?;
    }
    let plan: Arc<dyn ExecutionPlan> = match is_empty {
        true => Arc::new(EmptyExec::new(scanner.create_plan().await?.schema())),
        false => scanner.create_plan().await?,
    };
    let rows = execute_plan(plan, LanceExecutionOptions::default())?;
    // Values with an internal storage form, such as JSON, are returned in their input form.
    Ok(DatasetRecordBatchStream::new(guarded(rows)))
}

/// The fragments of `end` that may have rows which `begin` has not, or has with other values.
fn changed_fragments(begin: &Dataset, end: &Dataset) -> Vec<Fragment> {
    let known: HashMap<u64, &Fragment> = begin
        .fragments()
        .iter()
        .map(|fragment| (fragment.id, fragment))
        .collect();
    let is_same = |fragment: &Fragment| {
        known.get(&fragment.id).is_some_and(|known| {
            known.files == fragment.files
                && known.last_updated_at_version_meta == fragment.last_updated_at_version_meta
        })
    };
    let fragments = end.fragments().iter();
    fragments
        .filter(|fragment| !is_same(fragment))
        .cloned()
        .collect()
}

/// Checks that each version after `from` only has changes that the rows record.
async fn check_versions(end: &Arc<Dataset>, from: u64) -> Result<()> {
    check_each(end, from + 1..=end.version_id()).await
}

/// The same for some versions of a table.
pub async fn check_each(
    dataset: &Arc<Dataset>,
    versions: impl Iterator<Item = u64> + Send,
) -> Result<()> {
    let checks = stream::iter(versions).map(|version| async move {
        let transaction = dataset.read_transaction_by_version(version).await;
        let transaction = transaction.map_err(|error| {
            let error = Error::from(error);
            match error.code() {
                Code::TableVersionNotFound | Code::TableNotFound => cleaned_up(version),
                _ => error,
            }
        })?;
        check_recorded(version, transaction.as_ref())
    });
    checks
        .buffer_unordered(MANIFESTS_AT_ONCE)
        .try_collect()
        .await
}

fn check_recorded(version: u64, transaction: Option<&Transaction>) -> Result<()> {
    let operation = transaction.map(|transaction| &transaction.operation);
    let is_recorded = match operation {
        Some(operation) => matches!(
            operation,
            Operation::Append { .. }
                | Operation::Delete { .. }
                | Operation::Update { .. }
                | Operation::Rewrite { .. }
                | Operation::CreateIndex { .. }
                | Operation::ReserveFragments { .. }
                | Operation::Project { .. }
                | Operation::UpdateConfig { .. }
                | Operation::UpdateMemWalState { .. }
                | Operation::UpdateBases { .. }
        ),
        None => false,
    };
    if is_recorded {
        return Ok(());
    }
    let name = operation.map_or_else(
        || "unknown".to_string(),
        |operation| operation.name().to_string(),
    );
    Err(Error::new(
        Code::InvalidTableState,
        format!(
            "version {version} is a change of kind {name}, which the rows do not record; read all rows \
             with `from_version` 0, and continue from there"
        ),
    ))
}

fn cleaned_up(version: u64) -> Error {
    Error::new(
        Code::TableVersionNotFound,
        format!(
            "version {version} does not exist any more; read all rows with `from_version` 0, and continue \
             from there"
        ),
    )
}
