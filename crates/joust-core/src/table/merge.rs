//! Merge an upload into a table: update what matches, insert what does not, delete what is missing.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::{RecordBatch, RecordBatchIterator};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use lance::Dataset;
use lance::dataset::{
    MergeInsertBuilder, MergeInsertJob, WhenMatched, WhenNotMatched, WhenNotMatchedBySource,
    WriteParams,
};
use lance_datafusion::planner::Planner;

use super::Table;
use super::gather::{Gathered, gather, whole};
use super::stage::{Watch, refused, with_columns};
use super::write::{FORMAT, Written};
use super::write_admission::Begun;
use crate::commit::CommitOutcome;
use crate::error::{Code, Error, Result};
use crate::ipc::{UploadReader, decode};
use crate::planning::planned;
use crate::schema::Evaluation;
use crate::schema::columns::unknown_column;
use crate::schema::expression;
use crate::schema::expression::Expression;

/// Assumed size of a row of an incomplete upload, for the results of conditions.
const LONG_ROW: u64 = 4 << 10;

/// How the rows of an upload are merged with those of a table.
#[derive(Debug, Clone, Default)]
pub struct Merge {
    /// Rows match if they are equal in these columns.
    pub on: Vec<String>,
    pub when_matched_update_all: bool,
    /// SQL over `source.` and `target.` columns: update only where it is true.
    pub when_matched_update_all_filter: Option<String>,
    pub when_not_matched_insert_all: bool,
    pub when_not_matched_by_source_delete: bool,
    /// SQL over the table's columns: delete only where it is true.
    pub when_not_matched_by_source_delete_filter: Option<String>,
    /// Match through a scalar index of the `on` column (the default) or by a scan.
    pub use_index: Option<bool>,
    /// How long to retry after conflicts with other writers.
    pub timeout: Option<Duration>,
}

impl Merge {
    pub(super) fn updates(&self) -> bool {
        self.when_matched_update_all || self.when_matched_update_all_filter.is_some()
    }

    pub(super) fn deletes(&self) -> bool {
        self.when_not_matched_by_source_delete
            || self.when_not_matched_by_source_delete_filter.is_some()
    }

    /// The conditions that are evaluated over rows.
    fn conditions(&self) -> Result<Vec<Expression>> {
        let conditions = [
            self.when_matched_update_all_filter.as_deref(),
            self.when_not_matched_by_source_delete_filter.as_deref(),
        ];
        let written = conditions.into_iter().flatten();
        let written = written.filter(|sql| !sql.trim().is_empty());
        written.map(Expression::new).collect()
    }

    fn changes_anything(&self) -> bool {
        self.updates() || self.when_not_matched_insert_all || self.deletes()
    }
}

/// A committed merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merged {
    pub version: u64,
    pub num_inserted_rows: u64,
    pub num_updated_rows: u64,
    pub num_deleted_rows: u64,
    /// Attempts that conflicts with other writers caused.
    pub num_attempts: u32,
    /// Rows of the upload.
    pub num_rows: u64,
}

impl Merged {
    /// A merge into a table that had no version.
    fn first(written: Written) -> Self {
        Self {
            version: written.version,
            num_inserted_rows: written.num_rows,
            num_updated_rows: 0,
            num_deleted_rows: 0,
            num_attempts: 1,
            num_rows: written.num_rows,
        }
    }
}

impl Table {
    /// Merges the upload's rows, in one commit.
    pub async fn merge_insert(&self, upload: UploadReader, merge: Merge) -> Result<Merged> {
        self.while_there(self.merge_rows(upload, merge)).await
    }

    /// Writes the rows of the upload as the first version of a table, like a merge into a table without rows. Code 5
    /// when there is a version by now.
    pub async fn merge_insert_first(&self, upload: UploadReader, merge: Merge) -> Result<Merged> {
        if let Some(earlier) = self.earlier().await? {
            return Ok(Merged::first(earlier.written()));
        }
        if self.rows().is_some() {
            return Err(Error::new(
                Code::PermissionDenied,
                "the table has no version yet, so a grant with a row filter gives nothing on it",
            ));
        }
        let rows = with_columns(upload).await?;
        // An invalid merge also fails without rows.
        let empty = self.without_rows(rows.schema()).await?;
        let merging = Self::merging(&empty, &rows.schema(), &merge).await?;
        let nothing = whole(rows.schema(), Vec::new());
        merging.execute(nothing).await.map_err(Error::of_input)?;
        Ok(Merged::first(self.create_from(rows).await?))
    }

    /// An empty table with these columns in memory, which is not stored.
    async fn without_rows(&self, schema: SchemaRef) -> Result<Arc<Dataset>> {
        let location = format!("memory://{}.lance", uuid::Uuid::new_v4());
        let params = WriteParams {
            data_storage_version: Some(FORMAT),
            session: Some(self.handle.fresh_session()),
            ..WriteParams::default()
        };
        let rows = RecordBatchIterator::new([], schema);
        let empty = Dataset::write(rows, &location, Some(params)).await;
        Ok(Arc::new(empty.map_err(refused)?))
    }

    /// Prepares a merge of such rows into a version of a table.
    async fn merging(
        dataset: &Arc<Dataset>,
        source: &SchemaRef,
        merge: &Merge,
    ) -> Result<MergeInsertJob> {
        for column in &merge.on {
            if dataset.schema().resolve_case_insensitive(column).is_none() {
                return Err(unknown_column(dataset, column));
            }
        }
        if merge.on.is_empty() {
            return Err(Error::invalid(
                "`on` is missing; name at least one key column",
            ));
        }
        if !merge.changes_anything() {
            return Err(Error::invalid(
                "the merge would change nothing; say `when_matched_update_all`, \
                 `when_not_matched_insert_all` or `when_not_matched_by_source_delete`",
            ));
        }
        if merge.timeout == Some(Duration::ZERO) {
            return Err(Error::invalid(
                "merge insert timed out: a timeout of 0 leaves no time; give more or leave it out",
            ));
        }
        let matched = match &merge.when_matched_update_all_filter {
            Some(filter) => {
                let filter = expression::whole(filter)?;
                plan_in_time(dataset, source, &filter).await?;
                WhenMatched::UpdateIf(filter)
            }
            None if merge.when_matched_update_all => WhenMatched::UpdateAll,
            None => WhenMatched::DoNothing,
        };
        let not_matched = match merge.when_not_matched_insert_all {
            true => WhenNotMatched::InsertAll,
            false => WhenNotMatched::DoNothing,
        };
        let missing = match &merge.when_not_matched_by_source_delete_filter {
            Some(filter) => {
                let filter =
                    crate::schema::predicate::checked_where_planned(dataset, filter).await?;
                WhenNotMatchedBySource::delete_if(dataset, &filter).map_err(Error::of_input)?
            }
            None if merge.when_not_matched_by_source_delete => WhenNotMatchedBySource::Delete,
            None => WhenNotMatchedBySource::Keep,
        };
        let mut builder = MergeInsertBuilder::try_new(dataset.clone(), merge.on.clone())
            .map_err(Error::of_input)?;
        builder
            .when_matched(matched)
            .when_not_matched(not_matched)
            .when_not_matched_by_source(missing)
            .use_index(merge.use_index.unwrap_or(true))
            .skip_auto_cleanup(true);
        if let Some(timeout) = merge.timeout {
            builder.retry_timeout(timeout);
        }
        builder.try_build().map_err(Error::of_input)
    }

    async fn merge_rows(&self, upload: UploadReader, merge: Merge) -> Result<Merged> {
        let (source, batches) = decode(upload).await?;
        let (merge, batches) = self.restricted_merge(merge, batches).await?;
        // A slow client must not block others: only a merge with complete rows takes the lock. Longer ones commit
        // concurrently with others, and are retried after conflicts.
        let conditions = merge.conditions()?;
        let computed = |beside: u64| {
            let conditions = &conditions;
            move |version: &Dataset| Evaluation::of_change(version, conditions, u64::MAX, beside)
        };
        let (batches, begun) = match gather(batches).await? {
            Gathered::Whole {
                schema,
                batches,
                bytes,
            } => {
                let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
                let beside = (bytes / rows.max(1)) as u64;
                let begun = self.begin_change(bytes, computed(beside)).await?;
                (whole(schema, batches), begun)
            }
            Gathered::Long(batches, _) => {
                (batches, self.begin_beside_others(computed(LONG_ROW)).await?)
            }
        };
        let change = match begun {
            Begun::Before(earlier) => return self.merged_earlier(&earlier, &merge).await,
            Begun::Now(change) => change,
        };
        let job = Self::merging(&change.dataset, &source, &merge).await?;
        let watch = Arc::new(Watch::default());
        let merging = job.execute(watch.clone().over(batches));
        let ended = self
            .change_rows(counted(&watch), merging)
            .await
            .map_err(|error| watch.failure().unwrap_or_else(|| Error::of_input(error)))?;
        let (merged, stats) = match ended {
            CommitOutcome::Reported(reported) => reported,
            CommitOutcome::Confirmed(version) => {
                let merged = async {
                    let made = self.confirmed(version, watch.rows()).await?;
                    self.merged_earlier(&made, &merge).await
                };
                return merged.await.map_err(|error| self.after_commit(error));
            }
        };
        let version = self.committed(Arc::unwrap_or_clone(merged));
        Ok(Merged {
            version,
            num_inserted_rows: stats.num_inserted_rows,
            num_updated_rows: stats.num_updated_rows,
            num_deleted_rows: stats.num_deleted_rows,
            num_attempts: stats.num_attempts,
            num_rows: watch.rows(),
        })
    }
}

/// Plans a condition over `source.` and `target.` columns on a planning thread. Lance plans it again on an engine
/// thread, without a time limit. Lance reports an invalid condition.
async fn plan_in_time(dataset: &Dataset, source: &SchemaRef, filter: &str) -> Result<()> {
    let target = Schema::from(dataset.schema());
    let fields = [("source", source.fields()), ("target", target.fields())]
        .map(|(name, fields)| Field::new(name, DataType::Struct(fields.clone()), true));
    let planner = Planner::new(Arc::new(Schema::new(fields.to_vec())));
    let filter = filter.to_string();
    planned(async move {
        let parsed = planner.parse_filter(&filter);
        drop(parsed.and_then(|parsed| planner.optimize_expr(parsed)));
        Ok(())
    })
    .await
}

/// Counts the rows of a stream; the count is read later.
fn counted(watch: &Arc<Watch>) -> impl Fn() -> u64 + Send + Sync + 'static {
    let watch = watch.clone();
    move || watch.rows()
}
