//! The columns that the rows of a statement get.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::compute::{CastOptions, can_cast_types, cast_with_options};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use lance_arrow::json::ARROW_JSON_EXT_NAME;
use lance_arrow::{ARROW_EXT_META_KEY, ARROW_EXT_NAME_KEY, BLOB_META_KEY};

use crate::error::{Code, Error, Result};
use crate::names::short;
use crate::sql::plain::plain_type;

/// How the rows of a query become rows of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// The columns of the table that the query's columns are for, in their order; none: all.
    ByPosition(Vec<String>),
    /// The query's columns have the names of the table's.
    ByName,
    /// The query's columns are those of a new table.
    Query,
    /// The same, of declared columns.
    Declared(Vec<Declared>),
}

/// A column of `CREATE TABLE t (…)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    pub nullable: bool,
    pub is_json: bool,
}

impl Shape {
    /// Whether the columns depend on an existing table.
    pub fn needs_table(&self) -> bool {
        matches!(self, Self::ByPosition(_) | Self::ByName)
    }

    /// The conversion of rows with these columns. `table`: the columns of the table, in the form in which a client
    /// sends them.
    pub fn conversion(&self, rows: &Schema, table: &Schema) -> Result<Conversion> {
        let fields = match self {
            Self::ByPosition(names) => by_position(names, rows, table)?,
            Self::ByName => rows
                .fields()
                .iter()
                .map(|field| find(table, field.name()))
                .collect::<Result<_>>()?,
            Self::Query => rows.fields().iter().map(|field| of_query(field)).collect(),
            Self::Declared(columns) => rows
                .fields()
                .iter()
                .zip(columns)
                .map(|(field, column)| column.field(field))
                .collect(),
        };
        for (from, to) in rows.fields().iter().zip(&fields) {
            if !can_cast_types(from.data_type(), to.data_type()) {
                return Err(Error::invalid(format!(
                    "column `{}` has the type {}, and the query has {} there; add a cast",
                    short(to.name()),
                    short(&to.data_type().to_string()),
                    short(&from.data_type().to_string())
                )));
            }
        }
        Ok(Conversion {
            schema: Arc::new(Schema::new(fields)),
        })
    }
}

fn by_position(names: &[String], rows: &Schema, table: &Schema) -> Result<Vec<Field>> {
    let fields: Vec<Field> = match names {
        [] => table
            .fields()
            .iter()
            .map(|field| field.as_ref().clone())
            .collect(),
        names => names
            .iter()
            .map(|name| find(table, name))
            .collect::<Result<_>>()?,
    };
    if fields.len() != rows.fields().len() {
        return Err(Error::invalid(format!(
            "number of columns in the query: {}, expected: {}{}",
            rows.fields().len(),
            fields.len(),
            match names {
                [] => "; name the columns behind the table: INSERT INTO t (a, b)",
                _ => "",
            }
        )));
    }
    Ok(fields)
}

fn find(table: &Schema, name: &str) -> Result<Field> {
    let found = table.fields().iter().find(|field| field.name() == name);
    found.map(|field| field.as_ref().clone()).ok_or_else(|| {
        let names: Vec<&str> = table.fields().iter().map(|f| f.name().as_str()).collect();
        Error::new(
            Code::TableColumnNotFound,
            format!(
                "the table has no column `{}`; it has {}",
                short(name),
                short(&names.join(", "))
            ),
        )
    })
}

/// The column of a new table. Of the metadata only what defines the values remains: a copy of a computed column is a
/// plain column.
fn of_query(field: &Field) -> Field {
    const KEPT: [&str; 3] = [ARROW_EXT_NAME_KEY, ARROW_EXT_META_KEY, BLOB_META_KEY];
    let metadata = field.metadata().iter();
    let metadata = metadata
        .filter(|(key, _)| KEPT.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()));
    field
        .clone()
        .with_data_type(plain_type(field.data_type()))
        .with_nullable(true)
        .with_metadata(metadata.collect())
}

impl Declared {
    fn field(&self, field: &Field) -> Field {
        let mut metadata = HashMap::new();
        if self.is_json {
            metadata.insert(
                ARROW_EXT_NAME_KEY.to_string(),
                ARROW_JSON_EXT_NAME.to_string(),
            );
        }
        Field::new(field.name(), field.data_type().clone(), self.nullable).with_metadata(metadata)
    }
}

/// Converts the batches of a query.
pub struct Conversion {
    schema: SchemaRef,
}

impl Conversion {
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let columns = self.schema.fields().iter().zip(batch.columns());
        let columns = columns.map(|(field, values)| convert(field, values));
        let columns: Vec<ArrayRef> = columns.collect::<Result<_>>()?;
        Ok(RecordBatch::try_new(self.schema.clone(), columns)?)
    }
}

fn convert(field: &Field, values: &ArrayRef) -> Result<ArrayRef> {
    if !field.is_nullable() && values.logical_null_count() > 0 {
        return Err(Error::invalid(format!(
            "column `{}` takes no null, and a row has null there",
            short(field.name())
        )));
    }
    if values.data_type() == field.data_type() {
        return Ok(values.clone());
    }
    let options = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    cast_with_options(values, field.data_type(), &options).map_err(|_| {
        let hint = match field.data_type() {
            DataType::FixedSizeList(_, length) => format!("; a list has {length} values"),
            _ => String::new(),
        };
        Error::invalid(format!(
            "column `{}` has the type {}, and a row has a value that does not fit{hint}",
            short(field.name()),
            short(&field.data_type().to_string())
        ))
    })
}
