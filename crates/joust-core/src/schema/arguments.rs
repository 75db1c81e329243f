//! The columns of a batch that are the arguments of a function.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, make_array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{Field, Schema as ArrowSchema};
use lance_arrow::json::is_json_field;
use lance_core::datatypes::{Field as LanceField, Schema};

use super::columns::unknown_column_of;
use crate::error::{Error, Result};

/// The paths of a function's arguments, resolved in a schema.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arguments {
    paths: Vec<String>,
    /// The names from the root to each of them.
    places: Vec<Vec<String>>,
}

impl Arguments {
    /// Code 12 for a path that the schema has not, 13 for a column that functions do not get. `owner`: what has the
    /// columns, for messages.
    pub fn of(schema: &Schema, owner: &str, paths: &[String]) -> Result<Self> {
        let places = paths.iter().map(|path| {
            let fields = schema.resolve_case_insensitive(path);
            let fields = fields.ok_or_else(|| unknown_column_of(schema, owner, path))?;
            let unread =
                |field: &&LanceField| field.is_blob() || is_json_field(&Field::from(*field));
            if fields.last().is_some_and(unread) {
                return Err(Error::invalid(format!(
                    "column `{path}` has JSON or blobs, which functions do not get: copy it into a \
                     column of text or binary values, and declare the function again with that one"
                )));
            }
            Ok(fields.iter().map(|field| field.name.clone()).collect())
        });
        Ok(Self {
            places: places.collect::<Result<_>>()?,
            paths: paths.to_vec(),
        })
    }

    /// The names from the root to each of them.
    pub fn places(&self) -> &[Vec<String>] {
        &self.places
    }

    /// The arguments of some rows. They have their paths as names.
    pub fn batch(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let mut fields = Vec::with_capacity(self.paths.len());
        let mut columns = Vec::with_capacity(self.paths.len());
        for (path, place) in self.paths.iter().zip(&self.places) {
            let column = column_at(rows, place).ok_or_else(|| {
                Error::invalid(format!(
                    "column `{path}`, an argument of the function, is gone: declare the function \
                     again"
                ))
            })?;
            fields.push(Field::new(path, column.data_type().clone(), true));
            columns.push(column);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        let schema = Arc::new(ArrowSchema::new(fields));
        Ok(RecordBatch::try_new_with_options(
            schema, columns, &options,
        )?)
    }
}

/// A column or a field of a struct.
fn column_at(rows: &RecordBatch, place: &[String]) -> Option<ArrayRef> {
    let (root, names) = place.split_first()?;
    let mut column = rows.column_by_name(root)?.clone();
    for name in names {
        column = struct_field(&column, name)?;
    }
    Some(column)
}

/// A field of a struct. The fields of a null are null.
pub fn struct_field(parent: &ArrayRef, name: &str) -> Option<ArrayRef> {
    let parent = parent.as_struct_opt()?;
    let child = parent.column_by_name(name)?;
    let nulls = NullBuffer::union(parent.nulls(), child.nulls());
    let data = child.to_data().into_builder().nulls(nulls);
    Some(make_array(data.build().ok()?))
}
