//! Limits on JSON values.
//!
//! Lance parses, prints and searches JSON recursively: a value with a million levels overflows the stack, which aborts
//! the process. So [`check`] rejects such values before Lance parses them, and [`guarded`] rejects stored ones, which
//! other tools wrote, before Lance prints them. Neither recurses.

mod stored;
mod text;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Field, SchemaRef};
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::StreamExt;
use lance_arrow::ARROW_EXT_NAME_KEY;
use lance_arrow::json::{ARROW_JSON_EXT_NAME, has_json_fields, is_json_field};

use crate::error::{Code, Error, Result};

/// Nesting depth of a written value.
pub const MOST_WRITTEN: usize = 128;
/// Nesting depth of a read value. Printing it takes less than a tenth of an engine thread's stack.
const MOST_READ: usize = 2_000;

/// The defect of a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flaw {
    TooDeep,
    /// Bytes that are not JSONB.
    Malformed,
}

/// Whether a schema has JSON columns for [`check`].
pub fn has_json(schema: &SchemaRef) -> bool {
    schema.fields().iter().any(|field| field_has_json(field))
}

fn field_has_json(field: &Field) -> bool {
    is_json_text(field) || is_json_field(field) || children(field).any(field_has_json)
}

/// The child fields of a field.
fn children(field: &Field) -> Box<dyn Iterator<Item = &Field> + '_> {
    match field.data_type() {
        DataType::Struct(fields) => Box::new(fields.iter().map(AsRef::as_ref)),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => Box::new(std::iter::once(item.as_ref())),
        _ => Box::new(std::iter::empty()),
    }
}

fn is_json_text(field: &Field) -> bool {
    let name = field.metadata().get(ARROW_EXT_NAME_KEY);
    name.is_some_and(|name| name == ARROW_JSON_EXT_NAME)
}

/// Rejects client rows with a JSON value that is nested too deeply, or with invalid JSONB in a JSONB column.
pub fn check(batch: &RecordBatch) -> Result<()> {
    let schema = batch.schema_ref();
    for (field, column) in schema.fields().iter().zip(batch.columns()) {
        let Some(flaw) = flaw(field, column, MOST_WRITTEN) else {
            continue;
        };
        let name = crate::names::short(field.name());
        return Err(Error::invalid(match flaw {
            Flaw::TooDeep => format!(
                "column `{name}` has a JSON value with more than {MOST_WRITTEN} arrays and objects \
                 around one another; nest it less"
            ),
            Flaw::Malformed => format!(
                "column `{name}` has bytes that are not JSONB; send JSON as text, with the \
                 extension type {ARROW_JSON_EXT_NAME}"
            ),
        }));
    }
    Ok(())
}

/// Rejects values for JSON columns, text or JSONB, that a client's expressions computed.
pub fn check_values(values: &RecordBatch) -> Result<()> {
    for (field, column) in values.schema_ref().fields().iter().zip(values.columns()) {
        let flaw = match column.data_type() {
            DataType::LargeBinary => stored_flaw(column, MOST_WRITTEN),
            DataType::Null => None,
            _ => text_flaw(column, MOST_WRITTEN),
        };
        let flawed = |what: String| Err(Error::invalid(what));
        let name = crate::names::short(field.name());
        match flaw {
            Some(Flaw::TooDeep) => {
                return flawed(format!(
                    "a value for `{name}` has more than {MOST_WRITTEN} arrays and objects around one \
                     another; nest it less"
                ));
            }
            Some(Flaw::Malformed) => {
                return flawed(format!(
                    "a value for `{name}` is not JSON; give a text that is"
                ));
            }
            None => {}
        }
    }
    Ok(())
}

/// The same rows in their stored form, up to the first with a JSON value that cannot be printed.
pub fn guarded(rows: SendableRecordBatchStream) -> SendableRecordBatchStream {
    let schema = rows.schema();
    if !schema.fields().iter().any(|field| has_json_fields(field)) {
        return rows;
    }
    let checked = rows.map(|batch| {
        let batch = batch?;
        for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            if flaw(field, column, MOST_READ).is_some() {
                let error = unreadable(field.name());
                return Err(DataFusionError::External(Box::new(error)));
            }
        }
        Ok(batch)
    });
    Box::pin(RecordBatchStreamAdapter::new(schema, checked))
}

fn unreadable(column: &str) -> Error {
    Error::new(
        Code::InvalidTableState,
        format!(
            "column `{}` has a JSON value that can't be read: it is damaged, or has more than \
             {MOST_READ} arrays and objects around one another; leave the column out, or delete the row",
            crate::names::short(column)
        ),
    )
}

/// The defect of the first invalid value of a column.
fn flaw(field: &Field, column: &ArrayRef, most: usize) -> Option<Flaw> {
    if is_json_field(field) {
        return stored_flaw(column, most);
    }
    if is_json_text(field) {
        return text_flaw(column, most);
    }
    match column.data_type() {
        DataType::Struct(fields) => {
            let mut members = fields.iter().zip(column.as_struct().columns());
            members.find_map(|(field, column)| flaw(field, column, most))
        }
        DataType::List(item) => flaw(item, column.as_list::<i32>().values(), most),
        DataType::LargeList(item) => flaw(item, column.as_list::<i64>().values(), most),
        DataType::FixedSizeList(item, _) => flaw(item, column.as_fixed_size_list().values(), most),
        DataType::Map(item, _) => {
            let DataType::Struct(fields) = item.data_type() else {
                return None;
            };
            let entries = column.as_map().entries();
            let mut members = fields.iter().zip(entries.columns());
            members.find_map(|(field, column)| flaw(field, column, most))
        }
        _ => None,
    }
}

fn stored_flaw(column: &ArrayRef, most: usize) -> Option<Flaw> {
    let mut values = column.as_binary_opt::<i64>()?.iter().flatten();
    values.find_map(|value| stored::flaw(value, most))
}

fn text_flaw(column: &ArrayRef, most: usize) -> Option<Flaw> {
    let too_deep = |text: &str| text::is_deeper(text.as_bytes(), most);
    let found = match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().iter().flatten().any(too_deep),
        DataType::LargeUtf8 => column.as_string::<i64>().iter().flatten().any(too_deep),
        DataType::Utf8View => column.as_string_view().iter().flatten().any(too_deep),
        _ => false,
    };
    found.then_some(Flaw::TooDeep)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{LargeBinaryArray, ListArray, StringArray, StructArray};
    use arrow::buffer::OffsetBuffer;
    use arrow::datatypes::Schema;
    use futures::TryStreamExt;
    use lance_arrow::json::{encode_json, json_field};

    use super::*;

    fn nested(depth: usize) -> String {
        format!("{}1{}", "[".repeat(depth), "]".repeat(depth))
    }

    fn text_field() -> Field {
        let metadata = [(ARROW_EXT_NAME_KEY.into(), ARROW_JSON_EXT_NAME.into())];
        Field::new("j", DataType::Utf8, true).with_metadata(metadata.into())
    }

    fn batch(field: Field, column: ArrayRef) -> RecordBatch {
        RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![column]).unwrap()
    }

    fn texts(texts: &[&str]) -> ArrayRef {
        Arc::new(StringArray::from(texts.to_vec()))
    }

    #[test]
    fn text_that_is_nested_too_deeply_is_refused_wherever_it_is() {
        for (depth, fits) in [
            (MOST_WRITTEN, true),
            (MOST_WRITTEN + 1, false),
            (1_000_000, false),
        ] {
            let column = texts(&["{}", &nested(depth)]);
            let plain = batch(text_field(), column.clone());
            assert_eq!(check(&plain).is_ok(), fits, "{depth}");
            let members = vec![(Arc::new(text_field()), column.clone())];
            let row: ArrayRef = Arc::new(StructArray::from(members));
            let within = Field::new("s", row.data_type().clone(), true);
            assert_eq!(check(&batch(within, row)).is_ok(), fits, "{depth}");
            let item = Arc::new(text_field());
            let offsets = OffsetBuffer::from_lengths([2]);
            let list: ArrayRef = Arc::new(ListArray::new(item, offsets, column, None));
            let within = Field::new("l", list.data_type().clone(), true);
            assert!(has_json(&Arc::new(Schema::new(vec![within.clone()]))));
            assert_eq!(check(&batch(within, list)).is_ok(), fits, "{depth}");
        }
        let plain = Field::new("j", DataType::Utf8, true);
        assert!(!has_json(&Arc::new(Schema::new(vec![plain.clone()]))));
        assert!(check(&batch(plain, texts(&[&nested(1_000)]))).is_ok());
    }

    #[test]
    fn values_that_are_read_are_printed_in_a_tenth_of_a_threads_stack() {
        let printed = std::thread::Builder::new()
            .stack_size((16 << 20) / 10)
            .spawn(|| lance_arrow::json::decode_json(&stored::nested(MOST_READ)))
            .unwrap()
            .join();
        assert_eq!(printed.unwrap().len(), 2 * MOST_READ);
    }

    #[tokio::test]
    async fn stored_values_that_can_not_be_printed_are_an_error_of_the_stream() {
        for (value, reads) in [
            (encode_json(&nested(500)).unwrap(), true),
            (stored::nested(1_000_000), false),
            (vec![0x80, 0, 0, 1, 0x50, 0, 0, 1], false),
        ] {
            let column: ArrayRef = Arc::new(LargeBinaryArray::from(vec![value.as_slice()]));
            let batch = batch(json_field("j", true), column);
            let schema = batch.schema();
            let rows = futures::stream::iter([Ok(batch)]);
            let rows = guarded(Box::pin(RecordBatchStreamAdapter::new(schema, rows)));
            let read: std::result::Result<Vec<_>, _> = rows.try_collect().await;
            assert_eq!(read.is_ok(), reads);
            if let Err(error) = read {
                assert_eq!(Error::from(error).code(), Code::InvalidTableState);
            }
        }
    }
}
