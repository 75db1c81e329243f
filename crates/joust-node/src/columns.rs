//! Columns and metadata.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use joust_core::{Error, Result, table};
use napi::Env;
use napi::bindgen_prelude::{Either, PromiseRaw};
use napi_derive::napi;

use crate::promise::promise;
use crate::table::Table;
use crate::upload::{Upload, reader};

/// A column to add: filled once from a SQL expression; or all null, with a type or declared by a SQL
/// expression. Exactly one of `expression`, `dataType` and `computed`.
#[napi(object)]
pub struct NewColumn {
    pub name: String,
    /// SQL over the existing columns.
    pub expression: Option<String>,
    /// JSON text, in the form of either interface.
    pub data_type: Option<String>,
    /// SQL over the existing columns; stored in the metadata.
    pub computed: Option<String>,
    /// Of an all-null column.
    pub metadata: Option<HashMap<String, String>>,
    /// Field paths of the inputs of a column with a `dataType`; they must exist.
    pub inputs: Option<Vec<String>>,
}

/// A change of one column.
#[napi(object)]
pub struct ColumnAlteration {
    /// Field path.
    pub path: String,
    pub rename: Option<String>,
    pub nullable: Option<bool>,
    /// JSON text, in the form of either interface.
    pub data_type: Option<String>,
}

/// A change of one field's metadata.
#[napi(object)]
pub struct FieldMetadataUpdate {
    /// Field path.
    pub path: String,
    /// Keys to set.
    pub set: HashMap<String, String>,
    /// Keys to remove.
    pub unset: Vec<String>,
    /// Remove all other keys.
    pub replace: bool,
}

#[napi(object)]
pub struct FieldMetadataResult {
    pub version: f64,
    /// The metadata of each changed field, by canonical path.
    pub fields: HashMap<String, HashMap<String, String>>,
}

fn new_column(column: NewColumn) -> Result<table::NewColumn> {
    let name = column.name;
    let metadata = column.metadata.unwrap_or_default();
    match (column.expression, column.data_type, column.computed) {
        (Some(expression), None, None) => Ok(table::NewColumn::Expression { name, expression }),
        (None, Some(data_type), None) => {
            let inputs = column.inputs.unwrap_or_default();
            table::NewColumn::null(&name, &data_type, metadata, inputs)
        }
        (None, None, Some(expression)) => Ok(table::NewColumn::Computed {
            name,
            expression,
            metadata,
        }),
        _ => Err(Error::invalid(format!(
            "column `{name}` needs exactly one of an expression, a data type, a computed expression"
        ))),
    }
}

#[napi]
impl Table {
    /// Adds columns; returns the new version.
    #[napi(ts_return_type = "Promise<number>")]
    pub fn add_columns<'env>(
        &self,
        env: &'env Env,
        columns: Vec<NewColumn>,
    ) -> napi::Result<PromiseRaw<'env, f64>> {
        let table = self.inner.clone();
        let work = async move {
            let columns = columns
                .into_iter()
                .map(new_column)
                .collect::<Result<Vec<_>>>()?;
            table.add_columns(&columns).await
        };
        promise(env, work, |version| version as f64)
    }

    /// Adds the columns of an upload's schema, all null; it must have no rows. Returns the new version.
    #[napi(ts_return_type = "Promise<number>")]
    pub fn add_null_columns<'env>(
        &self,
        env: &'env Env,
        body: Either<&[u8], &Upload>,
    ) -> napi::Result<PromiseRaw<'env, f64>> {
        let table = self.inner.clone();
        let reader = reader(&self.inner, body);
        let work = async move { table.add_null_columns(reader?).await };
        promise(env, work, |version| version as f64)
    }

    /// Stores a function's payload in the table under its SHA-256 (hex); returns its path in the table.
    #[napi(ts_return_type = "Promise<string>")]
    pub fn keep_function<'env>(
        &self,
        env: &'env Env,
        sha256: String,
        payload: &[u8],
    ) -> napi::Result<PromiseRaw<'env, String>> {
        let table = self.inner.clone();
        let payload = payload.to_vec();
        let work = async move { table.keep_function(&sha256, payload).await };
        promise(env, work, |path| path)
    }

    /// Renames columns, casts them, changes their nullability; returns the new version.
    #[napi(ts_return_type = "Promise<number>")]
    pub fn alter_columns<'env>(
        &self,
        env: &'env Env,
        alterations: Vec<ColumnAlteration>,
    ) -> napi::Result<PromiseRaw<'env, f64>> {
        let table = self.inner.clone();
        let work = async move {
            let alterations = alterations
                .into_iter()
                .map(|change| table::Alteration {
                    path: change.path,
                    rename: change.rename,
                    nullable: change.nullable,
                    data_type: change.data_type,
                })
                .collect::<Vec<_>>();
            table.alter_columns(&alterations).await
        };
        promise(env, work, |version| version as f64)
    }

    /// Removes columns and the indexes on them; returns the new version.
    #[napi(ts_return_type = "Promise<number>")]
    pub fn drop_columns<'env>(
        &self,
        env: &'env Env,
        columns: Vec<String>,
    ) -> napi::Result<PromiseRaw<'env, f64>> {
        let table = self.inner.clone();
        let work = async move { table.drop_columns(&columns).await };
        promise(env, work, |version| version as f64)
    }

    /// Makes no commit to this branch for this time (ms), so that another process can commit. A call during a pause
    /// extends it and does not wait.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn pause_commits<'env>(
        &self,
        env: &'env Env,
        time_ms: u32,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let table = self.inner.clone();
        let time = Duration::from_millis(u64::from(time_ms));
        let work = async move {
            table.pause_commits(time).await;
            Ok(())
        };
        promise(env, work, |()| ())
    }

    /// Replaces the schema's metadata; returns the new version.
    #[napi(ts_return_type = "Promise<number>")]
    pub fn replace_schema_metadata<'env>(
        &self,
        env: &'env Env,
        metadata: HashMap<String, String>,
    ) -> napi::Result<PromiseRaw<'env, f64>> {
        let table = self.inner.clone();
        let work = async move { table.replace_schema_metadata(metadata).await };
        promise(env, work, |version| version as f64)
    }

    /// Changes the metadata of fields, all in one commit.
    #[napi(ts_return_type = "Promise<FieldMetadataResult>")]
    pub fn update_field_metadata<'env>(
        &self,
        env: &'env Env,
        updates: Vec<FieldMetadataUpdate>,
    ) -> napi::Result<PromiseRaw<'env, FieldMetadataResult>> {
        let table = self.inner.clone();
        let updates: Vec<table::FieldUpdate> = updates
            .into_iter()
            .map(|update| {
                let set = update
                    .set
                    .into_iter()
                    .map(|(key, value)| (key, Some(value)));
                let unset = update.unset.into_iter().map(|key| (key, None));
                table::FieldUpdate {
                    path: update.path,
                    metadata: set.chain(unset).collect::<BTreeMap<_, _>>(),
                    replace: update.replace,
                }
            })
            .collect();
        let work = async move { table.update_field_metadata(&updates).await };
        promise(env, work, |updated| FieldMetadataResult {
            version: updated.version as f64,
            fields: updated.fields.into_iter().collect(),
        })
    }
}
