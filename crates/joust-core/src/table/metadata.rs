//! Metadata of the schema and of its fields.

use std::collections::{BTreeMap, HashMap};

use lance::dataset::transaction::UpdateMapEntry;
use lance_core::datatypes::format_field_path;

use super::Table;
use crate::error::{Error, Result};
use crate::query::unknown_column;

/// A change of one field's metadata.
#[derive(Debug, Clone)]
pub struct FieldUpdate {
    /// Field path.
    pub path: String,
    /// `None` removes the key.
    pub metadata: BTreeMap<String, Option<String>>,
    /// Drop all other keys.
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
    /// Replaces the schema's metadata; the version that this made.
    pub async fn replace_schema_metadata(&self, metadata: HashMap<String, String>) -> Result<u64> {
        let (mut dataset, _version) = self.writable().await?;
        dataset
            .update_schema_metadata(metadata.into_iter().map(|(key, value)| UpdateMapEntry {
                key,
                value: Some(value),
            }))
            .replace()
            .await?;
        Ok(self.committed(dataset))
    }

    /// Changes the metadata of fields, all in one commit.
    pub async fn update_field_metadata(&self, updates: &[FieldUpdate]) -> Result<FieldsUpdated> {
        if updates.is_empty() {
            return Err(Error::invalid(
                "`updates` is empty; give at least one field",
            ));
        }
        let (mut dataset, _version) = self.writable().await?;
        let mut paths = Vec::with_capacity(updates.len());
        for update in updates {
            let names = dataset
                .schema()
                .resolve_case_insensitive(&update.path)
                .ok_or_else(|| unknown_column(&dataset, &update.path))?;
            let names: Vec<&str> = names.iter().map(|field| field.name.as_str()).collect();
            paths.push(format_field_path(&names));
        }
        let mut builder = dataset.update_field_metadata();
        for (update, path) in updates.iter().zip(&paths) {
            let entries = update.metadata.iter().map(|(key, value)| UpdateMapEntry {
                key: key.clone(),
                value: value.clone(),
            });
            builder = match update.replace {
                true => builder.replace(path.as_str(), entries),
                false => builder.update(path.as_str(), entries),
            }
            .map_err(Error::of_input)?;
        }
        builder.await?;
        let fields = paths
            .into_iter()
            .map(|path| {
                let metadata = dataset
                    .schema()
                    .field(&path)
                    .map(|field| field.metadata.clone())
                    .unwrap_or_default();
                (path, metadata)
            })
            .collect();
        Ok(FieldsUpdated {
            version: self.committed(dataset),
            fields,
        })
    }
}
