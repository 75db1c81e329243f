//! The columns that can have a text index: text columns, and paths within JSON columns.

use arrow::datatypes::Field as ArrowField;
use lance::Dataset;
use lance_core::datatypes::{Field, format_field_path, parse_field_path};

use super::entry::Entry;
use crate::error::Result;
use crate::schema::columns::{canonical_column, unknown_column};

/// A searched column.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TextColumn {
    /// The canonical path of the field.
    pub field: String,
    /// Of a JSON column: the keys of the path; all strings below it are texts.
    pub keys: Option<Vec<String>>,
}

impl TextColumn {
    /// A path names a field, or a path within a JSON field: `meta.author.name`.
    pub fn find(dataset: &Dataset, path: &str) -> Result<Self> {
        let schema = dataset.schema();
        if let Some(field) = schema.resolve_case_insensitive(path) {
            let is_json = field.last().is_some_and(|field| is_json(field));
            return Ok(Self {
                field: canonical_column(dataset, path)?,
                keys: is_json.then(Vec::new),
            });
        }
        let parts = parse_field_path(path).unwrap_or_default();
        let json = (1..parts.len()).rev().find_map(|length| {
            let names: Vec<&str> = parts[..length].iter().map(String::as_str).collect();
            let field = format_field_path(&names);
            let found = schema.resolve_case_insensitive(&field)?;
            found
                .last()
                .is_some_and(|field| is_json(field))
                .then_some((field, length))
        });
        let (field, length) = json.ok_or_else(|| unknown_column(dataset, path))?;
        Ok(Self {
            field: canonical_column(dataset, &field)?,
            keys: Some(parts[length..].to_vec()),
        })
    }

    /// The column of a segment.
    pub fn of(dataset: &Dataset, entry: &Entry) -> Result<Self> {
        Ok(Self {
            field: dataset.schema().field_path(entry.field)?,
            keys: entry.details.json_keys.clone(),
        })
    }

    /// Whether it is a path within a JSON column, which only an FTS index supports.
    pub fn is_within_json(&self) -> bool {
        self.keys.as_ref().is_some_and(|keys| !keys.is_empty())
    }

    /// The path with which queries and listings name it.
    pub fn name(&self) -> String {
        match self.keys.as_deref() {
            None | Some([]) => self.field.clone(),
            Some(keys) => {
                let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
                format!("{}.{}", self.field, format_field_path(&keys))
            }
        }
    }
}

fn is_json(field: &Field) -> bool {
    lance_arrow::json::is_json_field(&ArrowField::from(field))
}
