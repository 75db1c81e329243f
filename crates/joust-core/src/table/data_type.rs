//! Data types as JSON, with the names of both interfaces.

use arrow::datatypes::DataType;
use lance::arrow::json::JsonDataType;
use lance_namespace::models::JsonArrowDataType;
use lance_namespace::schema::convert_json_arrow_type;
use serde_json::Value;

use crate::error::{Error, Result};

/// Parses a type from JSON text: Lance's logical names (`float`, `string`) or the names of the namespace interface
/// (`float32`, `utf8`); an object with `type`, or only the name.
pub fn parse(text: &str) -> Result<DataType> {
    let object = match serde_json::from_str(text).unwrap_or(Value::Null) {
        Value::String(name) => serde_json::json!({ "type": name }),
        other => other,
    };
    let lance = serde_json::from_value::<JsonDataType>(object.clone())
        .ok()
        .and_then(|json| DataType::try_from(&json).ok());
    if let Some(data_type) = lance {
        return Ok(data_type);
    }
    let public = serde_json::from_value::<JsonArrowDataType>(object)
        .ok()
        .and_then(|json| convert_json_arrow_type(&json).ok());
    public.ok_or_else(|| {
        Error::invalid(format!(
            "{text} is no data type; use a name such as int64, float32, utf8 or bool"
        ))
    })
}

/// A type in the form that [`parse`] reads.
pub(crate) fn to_json(data_type: &DataType) -> Result<Value> {
    let unsupported = || Error::invalid(format!("no column of a table has the type {data_type}"));
    let json = JsonDataType::try_from(data_type).map_err(|_| unsupported())?;
    serde_json::to_value(json).map_err(|_| unsupported())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::{Field, TimeUnit};

    use super::*;

    #[test]
    fn a_type_is_read_as_it_is_written() {
        let float = Arc::new(Field::new("item", DataType::Float32, true));
        for data_type in [
            DataType::Boolean,
            DataType::UInt16,
            DataType::Decimal128(10, 2),
            DataType::Binary,
            DataType::Date32,
            DataType::Timestamp(TimeUnit::Nanosecond, None),
            DataType::List(float.clone()),
            DataType::FixedSizeList(float, 3),
        ] {
            let text = to_json(&data_type).unwrap().to_string();
            assert_eq!(parse(&text).unwrap(), data_type, "{text}");
        }
    }

    #[test]
    fn both_interfaces_names_are_read() {
        for text in [
            r#""float32""#,
            r#"{"type":"float32"}"#,
            r#"{"type":"float"}"#,
        ] {
            assert_eq!(parse(text).unwrap(), DataType::Float32, "{text}");
        }
        assert_eq!(parse(r#""string""#).unwrap(), DataType::Utf8);
        assert_eq!(parse(r#""utf8""#).unwrap(), DataType::Utf8);
        assert!(parse(r#""nosuch""#).is_err());
        assert!(parse("7").is_err());
        assert!(parse("{").is_err());
    }
}
