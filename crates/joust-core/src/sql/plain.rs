//! Results without string and binary views.
//!
//! Functions of DataFusion such as `substr` and `concat` return views. Many clients cannot read them, and Lance does not
//! store them: a result has strings and bytes in their place.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};

use crate::error::{Error, Result};

/// The type without views, also of the items of lists and the members of structs.
pub fn plain_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::List(item) => DataType::List(plain_field(item)),
        DataType::LargeList(item) => DataType::LargeList(plain_field(item)),
        DataType::FixedSizeList(item, length) => {
            DataType::FixedSizeList(plain_field(item), *length)
        }
        DataType::Struct(members) => DataType::Struct(plain_fields(members)),
        other => other.clone(),
    }
}

/// The columns without views.
pub fn plain_schema(schema: &SchemaRef) -> SchemaRef {
    let fields = plain_fields(schema.fields());
    if fields == *schema.fields() {
        return schema.clone();
    }
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// The rows with the columns of `schema`, the [`plain_schema`] of theirs.
pub fn plain(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns
        .map(|(column, field)| convert(column, field))
        .collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(
        schema.clone(),
        columns,
        &options,
    )?)
}

fn convert(column: &ArrayRef, field: &Field) -> Result<ArrayRef> {
    if column.data_type() == field.data_type() {
        return Ok(column.clone());
    }
    let strict = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    cast_with_options(column, field.data_type(), &strict).map_err(Error::of_input)
}

fn plain_fields(fields: &Fields) -> Fields {
    fields.iter().map(plain_field).collect()
}

fn plain_field(field: &FieldRef) -> FieldRef {
    let data_type = plain_type(field.data_type());
    if data_type == *field.data_type() {
        return field.clone();
    }
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

#[cfg(test)]
mod tests {
    use arrow::array::{
        Array, AsArray, BinaryViewArray, Int64Array, ListArray, StringViewArray, StructArray,
    };
    use arrow::buffer::OffsetBuffer;

    use super::*;

    fn views() -> ArrayRef {
        Arc::new(StringViewArray::from(vec![
            Some("a text that a view does not hold itself"),
            None,
        ]))
    }

    #[test]
    fn views_become_strings_and_bytes_at_every_depth() {
        let item = Arc::new(Field::new("item", DataType::Utf8View, true));
        let offsets = OffsetBuffer::from_lengths([2, 0]);
        let list: ArrayRef = Arc::new(ListArray::new(item.clone(), offsets, views(), None));
        let members = StructArray::from(vec![(item, views())]);
        let bytes: ArrayRef = Arc::new(BinaryViewArray::from(vec![Some(b"\0".as_ref()), None]));
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        let batch = RecordBatch::try_from_iter([
            ("text", views()),
            ("list", list),
            ("members", Arc::new(members) as _),
            ("bytes", bytes),
            ("number", numbers),
        ])
        .unwrap();
        let schema = plain_schema(&batch.schema());
        let plain = plain(&batch, &schema).unwrap();
        let text = |column: &ArrayRef| {
            let text = column.as_string::<i32>();
            assert_eq!(text.value(0), "a text that a view does not hold itself");
            assert!(text.is_null(1));
        };
        text(plain.column(0));
        text(plain.column(1).as_list::<i32>().values());
        text(plain.column(2).as_struct().column(0));
        assert_eq!(plain.column(3).as_binary::<i32>().value(0), b"\0");
        assert_eq!(plain.column(4), batch.column(4));
    }

    #[test]
    fn other_columns_and_numbers_of_rows_remain() {
        let schema: SchemaRef = Arc::new(Schema::new(vec![
            Field::new("n", DataType::Int64, false)
                .with_metadata([("a".into(), "b".into())].into()),
        ]));
        assert!(Arc::ptr_eq(&plain_schema(&schema), &schema));
        let none: SchemaRef = Arc::new(Schema::empty());
        let options = RecordBatchOptions::new().with_row_count(Some(3));
        let batch = RecordBatch::try_new_with_options(none.clone(), Vec::new(), &options).unwrap();
        assert_eq!(plain(&batch, &none).unwrap().num_rows(), 3);
    }
}
