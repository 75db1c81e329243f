//! Metadata of the schema and of its fields.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use futures::FutureExt;
use lance::Dataset;
use lance::dataset::transaction::UpdateMapEntry;
use lance_core::datatypes::format_field_path;
use parking_lot::Mutex;

use super::Table;
use super::schema_change::Effort;
use crate::error::{Error, Result};
use crate::schema::columns::unknown_column;
use crate::schema::function_entries;

/// A change of one field's metadata.
#[derive(Debug, Clone)]
pub struct FieldUpdate {
    /// Field path.
    pub path: String,
    /// `None` removes the key.
    pub metadata: BTreeMap<String, Option<String>>,
    /// Remove all other keys.
    pub replace: bool,
}

/// A committed change of field metadata.
#[derive(Debug, Clone)]
pub struct FieldsUpdated {
    pub version: u64,
    /// The metadata of each changed field, by canonical path.
    pub fields: BTreeMap<String, HashMap<String, String>>,
}

impl Table {
    /// Replaces the schema's metadata; returns the new version.
    pub async fn replace_schema_metadata(&self, metadata: HashMap<String, String>) -> Result<u64> {
        self.change_schema(Effort::Metadata, |version| {
            replace(version, metadata.clone()).boxed()
        })
        .await
    }

    /// Changes the metadata of fields, all in one commit.
    pub async fn update_field_metadata(&self, updates: &[FieldUpdate]) -> Result<FieldsUpdated> {
        if updates.is_empty() {
            return Err(Error::invalid(
                "`updates` is empty; give at least one field",
            ));
        }
        let fields = Mutex::default();
        let version = self
            .change_schema(Effort::Metadata, |version| {
                let fields = &fields;
                let build = async move {
                    let (dataset, updated) = update_fields(version, updates).await?;
                    *fields.lock() = updated;
                    Ok(dataset)
                };
                build.boxed()
            })
            .await?;
        Ok(FieldsUpdated {
            version,
            fields: fields.into_inner(),
        })
    }
}

async fn replace(version: Arc<Dataset>, metadata: HashMap<String, String>) -> Result<Dataset> {
    let mut dataset = version.as_ref().clone();
    let entries = metadata.into_iter().map(|(key, value)| UpdateMapEntry {
        key,
        value: Some(value),
    });
    dataset.update_schema_metadata(entries).replace().await?;
    Ok(dataset)
}

/// The new version, and the metadata of each changed field by its canonical path.
async fn update_fields(
    version: Arc<Dataset>,
    updates: &[FieldUpdate],
) -> Result<(Dataset, BTreeMap<String, HashMap<String, String>>)> {
    let mut paths = Vec::with_capacity(updates.len());
    for update in updates {
        let names = version
            .schema()
            .resolve_case_insensitive(&update.path)
            .ok_or_else(|| unknown_column(&version, &update.path))?;
        let names: Vec<&str> = names.iter().map(|field| field.name.as_str()).collect();
        paths.push(format_field_path(&names));
    }
    let mut dataset = version.as_ref().clone();
    let mut builder = dataset.update_field_metadata();
    for (update, path) in updates.iter().zip(&paths) {
        let mut metadata = update.metadata.clone();
        if update.replace
            && let Some(field) = version.schema().field(path)
        {
            // Only an administrator removes the declaration of a function, and names its keys.
            for (key, value) in function_entries(field) {
                metadata.entry(key).or_insert(Some(value));
            }
        }
        let entries = metadata
            .into_iter()
            .map(|(key, value)| UpdateMapEntry { key, value });
        builder = match update.replace {
            true => builder.replace(path.as_str(), entries),
            false => builder.update(path.as_str(), entries),
        }
        .map_err(Error::of_input)?;
    }
    builder.await?;
    let metadata_of = |path: &str| {
        let field = dataset.schema().field(path);
        field
            .map(|field| field.metadata.clone())
            .unwrap_or_default()
    };
    let fields = paths.into_iter().map(|path| {
        let metadata = metadata_of(&path);
        (path, metadata)
    });
    let fields = fields.collect();
    Ok((dataset, fields))
}
