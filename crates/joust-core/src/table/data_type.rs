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

#[cfg(test)]
mod tests {
    use super::*;

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
