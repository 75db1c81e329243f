//! The columns of a view with a function.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::compute::can_cast_types;
use arrow::datatypes::{DataType, Field, Fields, Schema};
use lance_core::datatypes::{Field as LanceField, Schema as LanceSchema};

use super::super::schema as view_schema;
use super::{CHILD_INDEX, NewViewFunction, SOURCE_ROW_ID};
use crate::error::{Code, Error, Result};
use crate::names::{check_column, short};
use crate::schema::{Arguments, ViewFunction};
use crate::sql::plain_schema;
use crate::table::data_type;

/// The columns of a new view.
pub struct Columns {
    pub schema: Schema,
    /// The names of those that come from the query.
    pub inherited: Vec<String>,
}

/// The columns of a new view, whose query gives `query`.
pub fn stored(
    query: &Schema,
    declared: Option<&[u8]>,
    function: &NewViewFunction,
) -> Result<Columns> {
    let own = view_schema::stored(query, None)?;
    let columns = match declared {
        Some(bytes) => of_declared(&own, &view_schema::read(bytes)?)?,
        None => of_function(&own, function)?,
    };
    arguments(query, &function.inputs)?;
    let mut seen = HashSet::new();
    for field in columns.schema.fields() {
        let name = field.name();
        check_column(name)?;
        if !seen.insert(name.to_lowercase()) {
            return Err(Error::invalid(format!(
                "the view has two columns `{}`",
                short(name)
            )));
        }
    }
    let outputs = outputs(&columns.schema, &columns.inherited);
    if outputs.is_empty() {
        return Err(Error::invalid(
            "the function gives no columns: each column of the view is one of the query",
        ));
    }
    for field in &outputs {
        // Functions return plain values, whose storage form Lance would not check.
        if field.extension_type_name().is_some() || LanceField::try_from(field.as_ref())?.is_blob()
        {
            return Err(Error::invalid(format!(
                "the function gives the column `{}`, which has JSON, blobs or another extension \
                 type: give it a plain type, such as utf8 or large_binary",
                short(field.name())
            )));
        }
    }
    Ok(columns)
}

/// The arguments of a function among the columns of a query.
pub fn arguments(query: &Schema, inputs: &[String]) -> Result<Arguments> {
    let query = plain_schema(&Arc::new(query.clone()));
    Arguments::of(&LanceSchema::try_from(query.as_ref())?, "query", inputs)
}

/// The columns that the function gives.
pub fn outputs(view: &Schema, inherited: &[String]) -> Fields {
    let fields = view.fields().iter().filter(|field| {
        let name = field.name();
        !is_own(name) && !inherited.contains(name)
    });
    fields.cloned().collect()
}

/// The type of a function's results: a list of rows for each row.
pub fn result_type(view: &Schema, function: &ViewFunction) -> DataType {
    let row = DataType::Struct(outputs(view, &function.inherited));
    DataType::List(Arc::new(Field::new_list_field(row, true)))
}

/// Whether joust fills a column of this name.
fn is_own(name: &str) -> bool {
    name == SOURCE_ROW_ID || name == CHILD_INDEX
}

/// Names that are also names of the query's columns are those columns; the function gives the others.
fn of_declared(own: &Schema, declared: &Schema) -> Result<Columns> {
    let mut inherited = Vec::new();
    let mut fields = Vec::with_capacity(declared.fields().len() + 2);
    for field in declared.fields() {
        let name = field.name().as_str();
        let mut field = view_schema::stored_field(field)?;
        if is_own(name) {
            let is_wide = match field.data_type() {
                DataType::Int64 | DataType::UInt64 => true,
                DataType::Int32 | DataType::UInt32 => name == CHILD_INDEX,
                _ => false,
            };
            if !is_wide {
                return Err(mismatch(&format!(
                    "says that `{name}` is {}: it must be int64",
                    field.data_type()
                )));
            }
        } else if let Ok(of_query) = own.field_with_name(name) {
            if !can_cast_types(of_query.data_type(), field.data_type()) {
                return Err(mismatch(&format!(
                    "says that `{}` is {}, the query gives {}",
                    short(name),
                    field.data_type(),
                    of_query.data_type()
                )));
            }
            field = of_query.clone().with_data_type(field.data_type().clone());
            inherited.push(name.to_string());
        }
        fields.push(field);
    }
    Ok(Columns {
        schema: with_own_columns(fields),
        inherited,
    })
}

fn of_function(own: &Schema, function: &NewViewFunction) -> Result<Columns> {
    let names = own.fields().iter().map(|field| field.name());
    let all = names.filter(|name| !is_own(name)).cloned().collect();
    let inherited = function.inherited.clone().unwrap_or(all);
    let mut fields = Vec::with_capacity(inherited.len() + function.outputs.len() + 2);
    for name in &inherited {
        if is_own(name) {
            return Err(Error::invalid(format!(
                "the view inherits a column `{name}`, which joust fills: name it with AS"
            )));
        }
        let field = own.field_with_name(name).map_err(|_| {
            Error::new(
                Code::TableColumnNotFound,
                format!(
                    "the view inherits a column `{}`, and the query gives none of this name",
                    short(name)
                ),
            )
        })?;
        fields.push(field.clone());
    }
    for (name, data_type) in &function.outputs {
        if is_own(name) {
            return Err(Error::invalid(format!(
                "the function gives a column `{name}`, which joust fills: give it another name"
            )));
        }
        fields.push(Field::new(name, data_type::parse(data_type)?, true));
    }
    Ok(Columns {
        schema: with_own_columns(fields),
        inherited,
    })
}

/// Adds the columns that tell which row of the source a row comes from.
fn with_own_columns(mut fields: Vec<Field>) -> Schema {
    for (name, data_type) in [
        (SOURCE_ROW_ID, DataType::Int64),
        (CHILD_INDEX, DataType::Int32),
    ] {
        if fields.iter().all(|field| field.name() != name) {
            fields.push(Field::new(name, data_type, true));
        }
    }
    Schema::new(fields)
}

fn mismatch(what: &str) -> Error {
    Error::new(
        Code::TableSchemaValidationError,
        format!("`output_schema` {what}"),
    )
}
