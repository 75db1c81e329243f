//! The declaration of a virtual column, which a Python function computes, in its field's metadata.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use lance_core::datatypes::{Field as LanceField, Schema as LanceSchema};
use serde::Serialize;

use crate::error::{Error, Result};

/// Metadata key that marks such a column. The other keys of the declaration start with it and a dot.
pub const VIRTUAL: &str = "virtual_column";
/// Metadata key of the function's name.
const NAME: &str = "virtual_column.udf_name";
/// Metadata key of its version.
const VERSION: &str = "virtual_column.udf_version";
/// Metadata key of the path of the function's payload in the table.
const PAYLOAD: &str = "virtual_column.udf";
/// Metadata key of the paths of the columns that are its arguments, a JSON list.
const INPUTS: &str = "virtual_column.udf_inputs";
/// Metadata key of the field of the function's struct with the values.
const STRUCT_FIELD: &str = "virtual_column.struct_field";
/// Metadata key that says whether the column refreshes itself, `true` or `false`.
const AUTO_BACKFILL: &str = "virtual_column.auto_backfill";

/// The function of a virtual column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FunctionColumn {
    pub name: String,
    /// As its client declared it.
    pub version: Option<String>,
    /// SHA-256 of the payload, hex.
    pub sha256: String,
    /// Paths of the columns that are its arguments, in their order.
    pub inputs: Vec<String>,
    pub struct_field: Option<String>,
}

impl FunctionColumn {
    /// `None`: no function computes the column. An incomplete declaration is code 13.
    pub fn of(field: &LanceField) -> Result<Option<Self>> {
        if !is_on(field, VIRTUAL) {
            return Ok(None);
        }
        let incomplete = |key: &str| {
            Error::invalid(format!(
                "the declaration of the virtual column `{}` has no valid {key}: declare it again",
                field.name
            ))
        };
        let member = |key: &str| field.metadata.get(key);
        let path = member(PAYLOAD).ok_or_else(|| incomplete(PAYLOAD))?;
        // The only directory with payloads.
        let sha256 = path.strip_prefix("_udfs/").unwrap_or_default();
        if !is_sha256(sha256) {
            return Err(incomplete(PAYLOAD));
        }
        let inputs = member(INPUTS).and_then(|list| serde_json::from_str(list).ok());
        Ok(Some(Self {
            name: member(NAME).cloned().unwrap_or_default(),
            version: member(VERSION).cloned(),
            sha256: sha256.to_string(),
            inputs: inputs.ok_or_else(|| incomplete(INPUTS))?,
            struct_field: member(STRUCT_FIELD).cloned(),
        }))
    }
}

/// Whether a text is a SHA-256 in hex, which is the name of a payload's file.
pub fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a virtual column refreshes itself.
pub fn backfills_itself(field: &LanceField) -> bool {
    is_on(field, VIRTUAL) && is_on(field, AUTO_BACKFILL)
}

fn is_on(field: &LanceField, key: &str) -> bool {
    field.metadata.get(key).is_some_and(|value| value == "true")
}

/// Whether all functions of a schema are declared in the known one, for the same fields.
pub fn declares_same_functions(schema: &LanceSchema, known: Option<&LanceSchema>) -> bool {
    schema.fields_pre_order().all(|field| {
        let declared = function_entries(field);
        declared.is_empty()
            || known
                .and_then(|known| known.field_by_id(field.id))
                .is_some_and(|known| function_entries(known) == declared)
    })
}

/// The metadata of a field that declares a function.
pub fn function_entries(field: &LanceField) -> BTreeMap<String, String> {
    let entries = field.metadata.iter().filter(|(key, _)| declares(key));
    entries
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// Whether a metadata key belongs to the declaration of a function.
fn declares(key: &str) -> bool {
    let rest = key.strip_prefix(VIRTUAL);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// A schema without declarations of functions. Other tools run those functions, so only an administrator declares them:
/// uploaded rows must not, whose schema may come from another table.
pub fn without_functions(schema: Schema) -> Schema {
    let has_functions = |field: &Arc<Field>| field.metadata().keys().any(|key| declares(key));
    if !schema.fields.iter().any(has_functions) {
        return schema;
    }
    let fields = schema.fields.iter().map(|field| {
        let mut metadata = field.metadata().clone();
        metadata.retain(|key, _| !declares(key));
        field.as_ref().clone().with_metadata(metadata)
    });
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata)
}
