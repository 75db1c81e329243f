//! Add, alter and drop columns.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use futures::{FutureExt, TryStreamExt};
use lance::Dataset;
use lance::dataset::{ColumnAlteration, NewColumnTransform};
use lance::index::DatasetIndexExt;
use lance_datafusion::planner::Planner;

use super::Table;
use super::fragment_columns::FragmentColumns;
use super::memory::ROWS_AT_ONCE;
use super::schema_change::Effort;
use super::{computed, data_type};
use crate::error::{Error, Result};
use crate::ipc::{UploadReader, decode};
use crate::names::check_column;
use crate::planning::planned;
use crate::schema::Evaluation;
use crate::schema::columns::{canonical_column, unknown_column};
use crate::schema::expression::Expression;

/// A column to add.
#[derive(Debug, Clone)]
pub enum NewColumn {
    /// Filled once from a SQL expression over the existing columns.
    Expression { name: String, expression: String },
    /// All null; declared to be computed from `inputs` outside of the table.
    Null { field: Field, inputs: Vec<String> },
    /// All null; declared as a SQL expression over the existing columns, which determines its type.
    Computed {
        name: String,
        expression: String,
        metadata: HashMap<String, String>,
    },
}

impl NewColumn {
    /// An all-null column; its type is JSON text in the form of either interface.
    pub fn null(
        name: &str,
        data_type: &str,
        metadata: HashMap<String, String>,
        inputs: Vec<String>,
    ) -> Result<Self> {
        let field = Field::new(name, data_type::parse(data_type)?, true);
        Ok(Self::Null {
            field: field.with_metadata(metadata),
            inputs,
        })
    }

    /// The SQL that fills it.
    fn expression(&self) -> Option<&str> {
        match self {
            Self::Expression { expression, .. } => Some(expression),
            _ => None,
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Expression { name, .. } | Self::Computed { name, .. } => name,
            Self::Null { field, .. } => field.name(),
        }
    }
}

/// A change of one column.
#[derive(Debug, Clone)]
pub struct Alteration {
    /// Field path.
    pub path: String,
    pub rename: Option<String>,
    pub nullable: Option<bool>,
    /// The new type as JSON text in the form of either interface.
    pub data_type: Option<String>,
}

impl Table {
    /// Adds columns; returns the new version.
    pub async fn add_columns(&self, columns: &[NewColumn]) -> Result<u64> {
        let are_nulls = columns
            .iter()
            .any(|column| !matches!(column, NewColumn::Expression { .. }));
        match are_nulls {
            true => {
                self.change_schema(Effort::Metadata, |version| {
                    add_nulls(version, columns).boxed()
                })
                .await
            }
            false => self.add_values(columns).await,
        }
    }

    /// Adds columns that expressions fill.
    async fn add_values(&self, columns: &[NewColumn]) -> Result<u64> {
        let written = FragmentColumns::default();
        let sql = columns.iter().filter_map(NewColumn::expression);
        let computes: Vec<_> = sql.map(Expression::new).collect::<Result<_>>()?;
        self.change_schema(Effort::Values(&computes), |version| {
            let (written, computes) = (&written, &computes);
            let build = async move {
                check_new_names(&version, columns)?;
                let planned = plan(&version, columns, expressions).await?;
                let computed = Evaluation::of_columns(&version, computes, ROWS_AT_ONCE);
                let batch = self.rows_at_once(&version, computed);
                written.add(version, planned, batch).await
            };
            build.boxed()
        })
        .await
    }

    /// Adds the columns of an upload's schema, all null; the upload may have no rows. Returns the new version.
    pub async fn add_null_columns(&self, upload: UploadReader) -> Result<u64> {
        let (schema, mut batches) = decode(upload).await?;
        while let Some(batch) = batches.try_next().await? {
            if batch.num_rows() > 0 {
                return Err(Error::invalid(
                    "new columns are null for the rows there are; send a stream of a schema without \
                     rows",
                ));
            }
        }
        let columns: Vec<NewColumn> = schema
            .fields()
            .iter()
            .map(|field| NewColumn::Null {
                field: field.as_ref().clone(),
                inputs: Vec::new(),
            })
            .collect();
        self.add_columns(&columns).await
    }

    /// Renames columns, casts them, changes their nullability; returns the new version.
    pub async fn alter_columns(&self, alterations: &[Alteration]) -> Result<u64> {
        if alterations.is_empty() {
            return Err(Error::invalid("`alterations` is empty; give at least one"));
        }
        // A cast rewrites the values, and forbidding nulls reads all of them.
        let is_metadata = alterations
            .iter()
            .all(|one| one.data_type.is_none() && one.nullable != Some(false));
        let effort = match is_metadata {
            true => Effort::Metadata,
            false => Effort::Values(&[]),
        };
        self.change_schema(effort, |version| alter(version, alterations).boxed())
            .await
    }

    /// Removes columns and the indexes on them; returns the new version.
    pub async fn drop_columns(&self, columns: &[String]) -> Result<u64> {
        if columns.is_empty() {
            return Err(Error::invalid("`columns` is empty; name at least one"));
        }
        self.change_schema(Effort::Metadata, |version| remove(version, columns).boxed())
            .await
    }
}

/// Plans columns on a planning thread: planning evaluates constants, which may take long.
async fn plan<T: Send + 'static>(
    version: &Arc<Dataset>,
    columns: &[NewColumn],
    kind: fn(&Dataset, &[NewColumn]) -> Result<T>,
) -> Result<T> {
    let (version, columns) = (version.clone(), columns.to_vec());
    planned(async move { kind(&version, &columns) }).await
}

/// Adds columns that are null in the existing rows.
async fn add_nulls(version: Arc<Dataset>, columns: &[NewColumn]) -> Result<Dataset> {
    check_new_names(&version, columns)?;
    let nulls = plan(&version, columns, null_fields).await?;
    let mut dataset = version.as_ref().clone();
    let nulls = NewColumnTransform::AllNulls(Arc::new(Schema::new(nulls)));
    dataset
        .add_columns(nulls, None, None)
        .await
        .map_err(Error::of_input)?;
    Ok(dataset)
}

fn null_fields(version: &Dataset, columns: &[NewColumn]) -> Result<Vec<Field>> {
    let mut nulls = Vec::with_capacity(columns.len());
    for column in columns {
        match column {
            // Lance adds one kind at a time, and two commits would not be one change.
            NewColumn::Expression { .. } => {
                return Err(Error::invalid(
                    "columns with an expression and columns without one can't be added in one \
                     request; send two",
                ));
            }
            NewColumn::Null { field, inputs } => {
                for input in inputs {
                    if version.schema().resolve_case_insensitive(input).is_none() {
                        return Err(unknown_column(version, input));
                    }
                }
                nulls.push(field.clone());
            }
            NewColumn::Computed {
                name,
                expression,
                metadata,
            } => nulls.push(computed::field(version, name, expression, metadata)?),
        }
    }
    Ok(nulls)
}

/// Name and SQL of each column, in the form that Lance accepts.
fn expressions(version: &Dataset, columns: &[NewColumn]) -> Result<Vec<(String, Expression)>> {
    let planner = Planner::new(Arc::new(Schema::from(version.schema())));
    let mut expressions = Vec::with_capacity(columns.len());
    for column in columns {
        if let NewColumn::Expression { name, expression } = column {
            let value = Expression::new(expression)?;
            planner
                .parse_expr(value.sql())
                .and_then(|parsed| planner.optimize_expr(parsed))
                .map_err(Error::of_input)?;
            expressions.push((name.clone(), value));
        }
    }
    Ok(expressions)
}

async fn alter(version: Arc<Dataset>, alterations: &[Alteration]) -> Result<Dataset> {
    let mut changes = Vec::with_capacity(alterations.len());
    for alteration in alterations {
        let path = &alteration.path;
        if let Some(name) = &alteration.rename {
            check_column(name)?;
        }
        let change = ColumnAlteration {
            path: canonical_column(&version, path)?,
            rename: alteration.rename.clone(),
            nullable: alteration.nullable,
            data_type: alteration
                .data_type
                .as_deref()
                .map(data_type::parse)
                .transpose()?,
        };
        if change.rename.is_none() && change.nullable.is_none() && change.data_type.is_none() {
            return Err(Error::invalid(format!(
                "the alteration of `{path}` changes nothing; give rename, nullable or data_type"
            )));
        }
        changes.push(change);
    }
    let mut dataset = version.as_ref().clone();
    dataset
        .alter_columns(&changes)
        .await
        .map_err(|error| match taken_name(&error) {
            Some(name) => exists(name),
            None => Error::of_input(error),
        })?;
    Ok(dataset)
}

async fn remove(version: Arc<Dataset>, columns: &[String]) -> Result<Dataset> {
    let paths: Vec<String> = columns
        .iter()
        .map(|column| canonical_column(&version, column))
        .collect::<Result<_>>()?;
    let names: Vec<&str> = paths.iter().map(String::as_str).collect();
    let mut dataset = version.as_ref().clone();
    dataset
        .drop_columns(&names)
        .await
        .map_err(Error::of_input)?;
    // Lance drops the indexes with their columns; a listing must not read them from the cache.
    dataset.load_indices().await?;
    Ok(dataset)
}

fn check_new_names(dataset: &Dataset, columns: &[NewColumn]) -> Result<()> {
    if columns.is_empty() {
        return Err(Error::invalid("`new_columns` is empty; give at least one"));
    }
    let mut seen = HashSet::new();
    for column in columns {
        let name = column.name();
        check_column(name)?;
        if !seen.insert(name.to_lowercase())
            || dataset.schema().resolve_case_insensitive(name).is_some()
        {
            return Err(exists(name));
        }
    }
    Ok(())
}

fn exists(name: &str) -> Error {
    Error::invalid(format!("the table has a column `{name}` already"))
}

/// The name that a rename would give to a second column; Lance's message contains the whole schema.
fn taken_name(error: &lance::Error) -> Option<&str> {
    let lance::Error::Schema { message, .. } = error else {
        return None;
    };
    let rest = message.split_once("Duplicate field name \"")?.1;
    Some(rest.split_once('"')?.0)
}
