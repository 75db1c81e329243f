//! The rows that differ between two versions of a table, from what Lance records of each row.
//!
//! A row has one id for its whole life, and the versions in which it was created and last updated.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::UInt64Type;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::prelude::{Expr, col, lit};
use futures::stream;
use futures::{Stream, StreamExt, TryStreamExt};
use lance::Dataset;
use lance::dataset::scanner::DatasetRecordBatchStream;
use lance::dataset::transaction::{Operation, Transaction};
use lance_core::{ROW_CREATED_AT_VERSION, ROW_ID, ROW_LAST_UPDATED_AT_VERSION};
use lance_datafusion::exec::{LanceExecutionOptions, execute_plan};
use lance_table::format::Fragment;

use crate::error::{Code, Error, Result};
use crate::json::guarded;
use crate::table::{ReadOptions, Table};

/// The columns of Lance that [`ChangedRows::scan`] adds.
pub(super) const SYSTEM: [&str; 3] = [ROW_ID, ROW_CREATED_AT_VERSION, ROW_LAST_UPDATED_AT_VERSION];
/// Bytes of a batch, independent of the row width.
const BATCH_BYTES: u64 = 4 << 20;
/// Manifests that are read at the same time.
const MANIFESTS_AT_ONCE: usize = 8;

impl Table {
    /// The version after which changes are read. Code 11 if it is cleaned up.
    pub(crate) async fn begin_of_changes(&self, version: u64) -> Result<Arc<Dataset>> {
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

/// The ids of the rows that version `from` has and `end` has not.
pub(crate) async fn deleted_rows(
    end: &Arc<Dataset>,
    from: u64,
) -> Result<DatasetRecordBatchStream> {
    let delta = end
        .delta()
        .with_begin_version(from)
        .with_end_version(end.version_id())
        .build()?;
    Ok(delta.get_deleted_row_ids().await?)
}

/// The rows of a version that may differ from an earlier one.
#[derive(Debug, Clone)]
pub(crate) struct ChangedRows {
    /// The fragments that they are in.
    pub fragments: Vec<Fragment>,
    /// Only those that were created or updated after this version; all rows of the fragments when absent.
    pub after: Option<u64>,
}

impl ChangedRows {
    /// All rows of a version.
    pub fn all(dataset: &Dataset) -> Self {
        Self {
            fragments: dataset.fragments().to_vec(),
            after: None,
        }
    }

    /// The condition that they meet, for a scan of the fragments.
    pub fn condition(&self) -> Option<Expr> {
        let after = |column: &str, version: u64| col(column).gt(lit(version));
        self.after.map(|version| {
            after(ROW_CREATED_AT_VERSION, version).or(after(ROW_LAST_UPDATED_AT_VERSION, version))
        })
    }

    /// Reads columns of the rows for which `filter` is true, and [`SYSTEM`].
    pub async fn scan(
        &self,
        dataset: &Arc<Dataset>,
        paths: &[String],
        filter: Option<Expr>,
    ) -> Result<DatasetRecordBatchStream> {
        let mut scanner = dataset.scan();
        scanner.batch_size_bytes(BATCH_BYTES);
        if !self.fragments.is_empty() {
            scanner.with_fragments(self.fragments.clone());
        }
        let paths = paths.iter().map(String::as_str).chain(SYSTEM);
        scanner.project(&paths.collect::<Vec<_>>())?;
        let conditions = self.condition().into_iter().chain(filter);
        if let Some(condition) = conditions.reduce(Expr::and) {
            scanner.filter_expr(condition);
        }
        let plan = scanner.create_plan().await?;
        let plan: Arc<dyn ExecutionPlan> = match self.fragments.is_empty() {
            true => Arc::new(EmptyExec::new(plan.schema())),
            false => plan,
        };
        let rows = execute_plan(plan, LanceExecutionOptions::default())?;
        // Values with an internal storage form, such as JSON, are returned in their input form.
        Ok(DatasetRecordBatchStream::new(guarded(rows)))
    }
}

/// A column of Lance that [`ChangedRows::scan`] adds.
pub(crate) fn numbers<'a>(batch: &'a RecordBatch, column: &str) -> Result<&'a [u64]> {
    let column = batch
        .column_by_name(column)
        .ok_or_else(|| Error::new(Code::Internal, format!("the scan lacks `{column}`")))?;
    Ok(column.as_primitive::<UInt64Type>().values())
}

/// The fragments of `end` that may have rows which `begin` has not, or has with other values of these fields.
///
/// Changed values are in new files, so the versions of the rows do not matter: Lance also gives rows a new version when
/// another column of them changes.
pub(crate) fn changed_fragments(
    begin: &Dataset,
    end: &Dataset,
    fields: &HashSet<i32>,
) -> Vec<Fragment> {
    fragments_unlike(begin, end, |former, now| {
        files_of(former, fields) == files_of(now, fields)
    })
}

/// The files with the values of some fields.
fn files_of<'a>(fragment: &'a Fragment, fields: &HashSet<i32>) -> Vec<(i32, Option<u32>, &'a str)> {
    let files = fragment.files.iter();
    let mut found: Vec<_> = files
        .flat_map(|file| {
            let fields = file.fields.iter();
            fields.map(|field| (*field, file.base_id, file.path.as_str()))
        })
        .filter(|(field, ..)| fields.contains(field))
        .collect();
    found.sort_unstable();
    found
}

/// The fragments of `begin` that may have rows which `end` has not, or has with other values.
pub(crate) fn former_fragments(begin: &Dataset, end: &Dataset) -> Vec<Fragment> {
    fragments_unlike(end, begin, |now, former| {
        now.files == former.files
            && now.deletion_file == former.deletion_file
            && now.last_updated_at_version_meta == former.last_updated_at_version_meta
    })
}

/// The fragments of `of` that `other` has not, or for which `is_same` is false.
fn fragments_unlike(
    other: &Dataset,
    of: &Dataset,
    is_same: impl Fn(&Fragment, &Fragment) -> bool,
) -> Vec<Fragment> {
    let known: HashMap<u64, &Fragment> = other
        .fragments()
        .iter()
        .map(|fragment| (fragment.id, fragment))
        .collect();
    let is_known = |fragment: &Fragment| {
        let known = known.get(&fragment.id);
        known.is_some_and(|known| is_same(known, fragment))
    };
    let fragments = of.fragments().iter();
    fragments.filter(|own| !is_known(own)).cloned().collect()
}

/// What records the changes of some versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Record {
    /// The files of the fragments: any row of a fragment with other files may have other values.
    Files,
    /// The rows: each has the version in which it was last updated.
    Rows,
}

/// Checks that each of some versions only has changes that the rows record. Code 11 if a version is cleaned up, 19 if it
/// is another change.
pub(crate) async fn check_each(
    dataset: &Arc<Dataset>,
    versions: impl Iterator<Item = u64> + Send,
) -> Result<()> {
    let records = records(dataset, versions);
    records
        .try_for_each(|(version, name, record)| async move {
            match record {
                Some(Record::Rows) => Ok(()),
                _ => Err(not_recorded(version, &name)),
            }
        })
        .await
}

/// What records all changes of some versions. Errors as of [`check_each`].
pub(crate) async fn record_of(
    dataset: &Arc<Dataset>,
    versions: impl Iterator<Item = u64> + Send,
) -> Result<Record> {
    let records = records(dataset, versions);
    records
        .try_fold(
            Record::Rows,
            |coarsest, (version, name, record)| async move {
                match record {
                    Some(record) => Ok(coarsest.min(record)),
                    None => Err(not_recorded(version, &name)),
                }
            },
        )
        .await
}

/// The kinds of the changes of some versions.
fn records<'a>(
    dataset: &'a Arc<Dataset>,
    versions: impl Iterator<Item = u64> + Send + 'a,
) -> impl Stream<Item = Result<(u64, String, Option<Record>)>> + Send + 'a {
    let records = stream::iter(versions).map(move |version| async move {
        let transaction = dataset.read_transaction_by_version(version).await;
        let transaction = transaction.map_err(|error| {
            let error = Error::from(error);
            match error.code() {
                Code::TableVersionNotFound | Code::TableNotFound => cleaned_up(version),
                _ => error,
            }
        })?;
        let operation = transaction.as_ref().map(|one: &Transaction| &one.operation);
        let name = operation.map_or_else(|| "unknown".into(), |one| one.name().to_string());
        Ok((version, name, operation.and_then(record)))
    });
    records.buffer_unordered(MANIFESTS_AT_ONCE)
}

/// `None`: all rows may be others.
fn record(operation: &Operation) -> Option<Record> {
    match operation {
        // Values that were written in place, without the rows that have them.
        Operation::Update {
            fields_modified,
            updated_fragment_offsets: None,
            ..
        } if !fields_modified.is_empty() => Some(Record::Files),
        Operation::Append { .. }
        | Operation::Delete { .. }
        | Operation::Update { .. }
        | Operation::Rewrite { .. }
        | Operation::CreateIndex { .. }
        | Operation::ReserveFragments { .. }
        | Operation::Project { .. }
        | Operation::UpdateConfig { .. }
        | Operation::UpdateMemWalState { .. }
        | Operation::UpdateBases { .. } => Some(Record::Rows),
        Operation::DataReplacement { .. } | Operation::Merge { .. } => Some(Record::Files),
        // Among them overlays of values, which `changed_fragments` does not compare.
        _ => None,
    }
}

fn not_recorded(version: u64, name: &str) -> Error {
    Error::new(
        Code::InvalidTableState,
        format!(
            "version {version} is a change of kind {name}, which the rows do not record; read all rows \
             with `from_version` 0, and continue from there"
        ),
    )
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
