//! The stored schema of a view.

use std::collections::{HashMap, HashSet};

use arrow::array::RecordBatch;
use arrow::compute::{CastOptions, can_cast_types, cast_with_options};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::ipc::reader::FileReader;
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::StreamExt;
use lance::Dataset;

use crate::error::{Code, Error, Result};
use crate::ipc::schema_of;
use crate::names::{check_column, short};
use crate::sql::plain_type;

/// Metadata of a source's field that is part of its type; other metadata describes the source.
const TYPE_METADATA: &str = "ARROW:extension:";

/// Whether a field has an extension type, whose values may be stored in another form, such as JSON.
pub fn is_extension(field: &Field) -> bool {
    field
        .metadata()
        .keys()
        .any(|key| key.starts_with(TYPE_METADATA))
}

/// The columns of a version as a text that is the same in each process: the metadata of a schema has no order.
pub fn columns_of(dataset: &Dataset) -> String {
    let fields = dataset.schema().fields_pre_order();
    let columns: Vec<_> = fields
        .map(|field| (field.id, &field.name, &field.logical_type))
        .collect();
    format!("{columns:?}")
}

/// The fields of a view whose query returns `result`. With a `declared` schema the names must be the same, and the view
/// has the declared types.
pub fn stored(result: &Schema, declared: Option<&[u8]>) -> Result<Schema> {
    let mut seen = HashSet::new();
    for field in result.fields() {
        let name = field.name();
        if check_column(name).is_err() || !seen.insert(name.to_lowercase()) {
            return Err(Error::invalid(format!(
                "the query gives a column `{}`, which can't be the name of a view's column or is there \
                 twice: name it with AS",
                short(name)
            )));
        }
    }
    if result.fields().is_empty() {
        return Err(Error::invalid("the query gives no columns"));
    }
    let own: Vec<Field> = result
        .fields()
        .iter()
        .map(|field| stored_field(field))
        .collect::<Result<_>>()?;
    match declared {
        Some(bytes) => declared_fields(&own, &read(bytes)?).map(Schema::new),
        None => Ok(Schema::new(own)),
    }
}

/// A field of the view for one of its query, or a declared one.
pub fn stored_field(field: &Field) -> Result<Field> {
    let data_type = plain_type(field.data_type());
    if data_type == DataType::Null {
        return Err(Error::invalid(format!(
            "column `{}` has no type: give it one with CAST",
            field.name()
        )));
    }
    let metadata: HashMap<String, String> = field
        .metadata()
        .iter()
        .filter(|(key, _)| key.starts_with(TYPE_METADATA))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    Ok(Field::new(field.name(), data_type, true).with_metadata(metadata))
}

fn declared_fields(own: &[Field], declared: &Schema) -> Result<Vec<Field>> {
    let names = |fields: &mut dyn Iterator<Item = &str>| fields.collect::<Vec<_>>().join(", ");
    let given = names(&mut own.iter().map(|field| field.name().as_str()));
    let wanted = names(&mut declared.fields().iter().map(|field| field.name().as_str()));
    if given != wanted {
        return Err(mismatch(&format!(
            "has the columns {}, the query gives {}",
            short(&wanted),
            short(&given)
        )));
    }
    let fields = own.iter().zip(declared.fields());
    fields
        .map(|(own, declared)| {
            if !can_cast_types(own.data_type(), declared.data_type()) {
                return Err(mismatch(&format!(
                    "says that `{}` is {}, the query gives {}",
                    own.name(),
                    declared.data_type(),
                    own.data_type()
                )));
            }
            let data_type = plain_type(declared.data_type());
            Ok(own.clone().with_data_type(data_type))
        })
        .collect()
}

fn mismatch(what: &str) -> Error {
    Error::new(
        Code::TableSchemaValidationError,
        format!("`output_schema` {what}"),
    )
}

/// Reads a declared schema.
pub fn read(bytes: &[u8]) -> Result<Schema> {
    let schema = match schema_of(bytes) {
        Ok(schema) => Some(schema),
        Err(_) => FileReader::try_new(std::io::Cursor::new(bytes), None)
            .ok()
            .map(|file| file.schema()),
    };
    schema
        .map(|schema| schema.as_ref().clone())
        .ok_or_else(|| Error::invalid("`output_schema` is not an Arrow IPC schema in base64"))
}

/// Casts the rows of a query to the view's stored types.
pub fn conform(rows: SendableRecordBatchStream, schema: SchemaRef) -> SendableRecordBatchStream {
    let target = schema.clone();
    let rows = rows.map(move |batch| {
        batch
            .map_err(Error::of_input)
            .and_then(|batch| cast(&batch, &target))
            .map_err(|error| DataFusionError::External(Box::new(error)))
    });
    Box::pin(RecordBatchStreamAdapter::new(schema, rows))
}

fn cast(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let strict = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns
        .map(
            |(column, field)| match column.data_type() == field.data_type() {
                true => Ok(column.clone()),
                false => Ok(cast_with_options(column, field.data_type(), &strict)
                    .map_err(Error::of_input)?),
            },
        )
        .collect::<Result<Vec<_>>>()?;
    Ok(RecordBatch::try_new(schema.clone(), columns)?)
}
