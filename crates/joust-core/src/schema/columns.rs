//! Resolves columns by name.

use lance::Dataset;
use lance_core::datatypes::{Schema, format_field_path};

use crate::error::{Code, Error, Result};
use crate::names::short;

/// The path of a column in the spelling of the schema, quoted where SQL would misread it; client names are
/// case-insensitive.
pub fn canonical_column(dataset: &Dataset, path: &str) -> Result<String> {
    let fields = dataset
        .schema()
        .resolve_case_insensitive(path)
        .ok_or_else(|| unknown_column(dataset, path))?;
    let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
    Ok(format_field_path(&names))
}

/// The error for a column that does not exist; it lists the columns of the table.
pub fn unknown_column(dataset: &Dataset, name: &str) -> Error {
    unknown_column_of(dataset.schema(), "table", name)
}

/// As [`unknown_column`]. `owner`: what has the columns.
pub fn unknown_column_of(schema: &Schema, owner: &str, name: &str) -> Error {
    let known: Vec<&str> = schema
        .fields
        .iter()
        .map(|field| field.name.as_str())
        .collect();
    let name = short(name);
    Error::new(
        Code::TableColumnNotFound,
        format!(
            "there is no column `{name}`; the {owner} has {}",
            known.join(", ")
        ),
    )
}
