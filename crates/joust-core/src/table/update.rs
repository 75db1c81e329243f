//! Update rows by SQL expressions.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use futures::TryStreamExt;
use lance::Dataset;
use lance::dataset::write::update::UpdateResult;
use lance::dataset::{UpdateBuilder, UpdateJob};
use lance_datafusion::exec::{LanceExecutionOptions, execute_plan};
use lance_datafusion::planner::Planner;

use super::ReadOptions;
use super::Table;
use super::write_admission::Begun;
use crate::commit::{Attempts, CommitOutcome, Policy, to_outcome};
use crate::error::{Code, Error, Result};
use crate::json;
use crate::names::short;
use crate::planning::planned;
use crate::schema::Evaluation;
use crate::schema::columns::canonical_column;
use crate::schema::expression;
use crate::schema::expression::Expression;
use crate::schema::predicate::computed_expressions;

/// Bytes of values below which the number of rows does not matter.
const LITTLE: usize = 8 << 20;

/// The values that an update sets, and its predicate.
#[derive(Debug, Clone, Default)]
pub struct Update {
    /// Column and SQL expression over the row before the update.
    pub set: Vec<(String, String)>,
    /// SQL; all rows when absent.
    pub predicate: Option<String>,
}

/// A committed update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Updated {
    pub version: u64,
    pub num_updated_rows: u64,
}

impl Table {
    /// Sets columns of the rows for which the predicate is true, in one commit.
    pub async fn update(&self, update: Update) -> Result<Updated> {
        if update.set.is_empty() {
            return Err(Error::invalid(
                "`updates` is empty; give at least one [column, expression]",
            ));
        }
        self.while_there(self.update_rows(update)).await
    }

    /// The update of the rows that the caller may use. It sets no column that the row filter reads, so that a row stays
    /// visible or hidden.
    async fn restricted(&self, update: Update) -> Result<Update> {
        let Some(rows) = self.rows() else {
            return Ok(update);
        };
        let dataset = self.changeable().await?;
        let own = update.predicate.as_deref();
        rows.admit(&dataset, own).await?;
        for (column, _) in &update.set {
            let path = canonical_column(&dataset, column)?;
            let fields = dataset.schema().resolve_case_insensitive(&path);
            let root = fields.as_deref().and_then(|fields| fields.first());
            if root.is_none_or(|root| rows.reads(&dataset, &root.name).unwrap_or(true)) {
                return Err(Error::new(
                    Code::PermissionDenied,
                    format!(
                        "the row filter of your grant reads `{}`, so you cannot set it",
                        short(column)
                    ),
                ));
            }
        }
        Ok(Update {
            predicate: Some(rows.and(own)?),
            ..update
        })
    }

    async fn update_rows(&self, update: Update) -> Result<Updated> {
        let update = self.restricted(update).await?;
        let condition = computed_expressions(update.predicate.as_deref().unwrap_or_default())?;
        let values = update.set.iter().map(|(_, value)| Expression::new(value));
        let values: Vec<_> = values.collect::<Result<_>>()?;
        let rows = self.rows_to_set(&update, &values).await?;
        let computed = |version: &Dataset| {
            let condition = Evaluation::of_change(version, &condition, u64::MAX, 0);
            let values = Evaluation::of_change(version, &values, rows, 0);
            match values {
                Some(values) => Some(values.and(condition)),
                None => condition,
            }
        };
        let change = match self.begin_change(0, computed).await? {
            Begun::Before(earlier) => return Ok(earlier.updated()),
            Begun::Now(change) => change,
        };
        let before = change.dataset.version_id();
        let attempts = self.attempts(change.dataset.clone(), &update);
        let updated = match self.commit(Policy::RowChange, attempts).await? {
            CommitOutcome::Reported(updated) => updated,
            CommitOutcome::Confirmed(version) => {
                let made = self.confirmed(version, 0).await;
                let updated = made.map(|made| made.updated());
                return updated.map_err(|error| self.after_commit(error));
            }
        };
        let dataset = Arc::unwrap_or_clone(updated.new_dataset);
        let version = dataset.version_id().max(before);
        self.handle.advance(dataset);
        Ok(Updated {
            version,
            num_updated_rows: updated.rows_updated,
        })
    }

    /// The number of rows to update, if it matters: the values of many rows are large, and a condition may select few.
    async fn rows_to_set(&self, update: &Update, values: &[Expression]) -> Result<u64> {
        let Some(predicate) = &update.predicate else {
            return Ok(u64::MAX);
        };
        let version = self.changeable().await?;
        let of_all = Evaluation::of_change(&version, values, u64::MAX, 0);
        match of_all.is_some_and(|of_all| of_all.bytes > LITTLE) {
            true => {
                self.count_rows(Some(predicate), ReadOptions::default())
                    .await
            }
            false => Ok(u64::MAX),
        }
    }

    /// Runs an update on a version, and again on a newer one if JSON values must be checked again.
    async fn attempts(
        &self,
        mut version: Arc<Dataset>,
        update: &Update,
    ) -> Result<CommitOutcome<UpdateResult>> {
        let mut attempts = Attempts::at(Policy::RowChange);
        loop {
            let job = planned(plan(version.clone(), update.clone())).await?;
            let is_checked = check_json(&version, update).await?;
            match to_outcome(job.execute()).await.map_err(Error::of_input) {
                Err(error) if is_checked => attempts.lost(error).await?,
                // Lance has retried an update without JSON values.
                ended => return ended,
            }
            version = self.changeable().await?;
        }
    }
}

async fn plan(dataset: Arc<Dataset>, update: Update) -> Result<UpdateJob> {
    let set = resolve(&dataset, &update.set)?;
    check_independent(&dataset, &set)?;
    let mut builder = UpdateBuilder::new(dataset.clone());
    if let Some(predicate) = &update.predicate {
        let predicate = crate::schema::predicate::checked(&dataset, predicate)?;
        builder = builder.update_where(&predicate).map_err(Error::of_input)?;
    }
    if !json_values(&dataset, &set).is_empty() {
        // Lance would not check the values of rows that it reads again.
        builder = builder.conflict_retries(0);
    }
    for (column, value) in &set {
        builder = builder.set(column, value).map_err(Error::of_input)?;
    }
    builder.build().map_err(Error::of_input)
}

/// Rejects values that Lance could not parse or print as JSON: see [`json`]. If a JSON column is set, this computes the
/// values an additional time. Returns whether one is.
async fn check_json(dataset: &Arc<Dataset>, update: &Update) -> Result<bool> {
    let values = json_values(dataset, &resolve(dataset, &update.set)?);
    if values.is_empty() {
        return Ok(false);
    }
    let (dataset, predicate) = (dataset.clone(), update.predicate.clone());
    let plan = planned(async move {
        let mut scanner = dataset.scan();
        if let Some(predicate) = &predicate {
            let predicate = crate::schema::predicate::checked(&dataset, predicate)?;
            scanner.filter(&predicate).map_err(Error::of_input)?;
        }
        scanner
            .project_with_transform(&values)
            .map_err(Error::of_input)?
            // Lance does not accept a scan of constants only.
            .with_row_id();
        scanner.create_plan().await.map_err(Error::of_input)
    });
    let values = execute_plan(plan.await?, LanceExecutionOptions::default());
    let mut values = values.map_err(Error::of_input)?;
    while let Some(values) = values.try_next().await.map_err(Error::of_input)? {
        json::check_values(&values)?;
    }
    Ok(true)
}

/// The JSON columns that are set.
fn json_values(dataset: &Dataset, set: &[(String, String)]) -> Vec<(String, String)> {
    let is_json = |path: &str| {
        let field = dataset.schema().field(path);
        field.is_some_and(|field| lance_arrow::json::is_json_field(&Field::from(field)))
    };
    let values = set.iter().filter(|(path, _)| is_json(path));
    values.cloned().collect()
}

/// The columns in the spelling of the schema, and the values in the form that Lance accepts.
fn resolve(dataset: &Dataset, set: &[(String, String)]) -> Result<Vec<(String, String)>> {
    let resolved = set
        .iter()
        .map(|(column, value)| Ok((bare_name(dataset, column)?, expression::whole(value)?)));
    resolved.collect()
}

/// The name of a column without SQL quotes: Lance looks values up by it. A nested field has only its path, which Lance
/// rejects.
fn bare_name(dataset: &Dataset, column: &str) -> Result<String> {
    let path = dataset.schema().resolve_case_insensitive(column);
    match path.as_deref() {
        // Only other tools create such names.
        Some([field]) if field.name.contains(['.', '`']) => Err(Error::new(
            Code::Unsupported,
            format!(
                "the column `{}` can't be updated because of the dot or backtick in its name; rename it first",
                short(&field.name)
            ),
        )),
        Some([field]) => Ok(field.name.clone()),
        _ => canonical_column(dataset, column),
    }
}

/// Rejects a value that reads another column of the same update: Lance sets the columns in sequence, in an undefined
/// order, so that it might read the new value.
fn check_independent(dataset: &Dataset, set: &[(String, String)]) -> Result<()> {
    let planner = Planner::new(Arc::new(Schema::from(dataset.schema())));
    for (column, value) in set {
        // An invalid expression is rejected where it is used.
        let Ok(parsed) = planner.parse_expr(value) else {
            continue;
        };
        for read in Planner::column_names_in_expr(&parsed) {
            let same = |other: &str| root(other).eq_ignore_ascii_case(root(&read));
            if !same(column) && set.iter().any(|(other, _)| same(other)) {
                return Err(Error::invalid(format!(
                    "the value of `{column}` reads `{read}`, which the same update sets; \
                     send two updates"
                )));
            }
        }
    }
    Ok(())
}

/// The top-level column of a field path.
fn root(path: &str) -> &str {
    path.split('.').next().unwrap_or(path).trim_matches('`')
}
