//! Texts within JSON.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Field};
use lance_arrow::ARROW_EXT_NAME_KEY;
use lance_arrow::json::{ARROW_JSON_EXT_NAME, JsonValues, is_json_field, json_field};
use serde_json::Value;

use crate::error::{Error, Result};

/// A field in the schema of a result: JSON is stored in a binary form and returned as text.
pub fn as_returned(field: Field) -> Field {
    if !is_json_field(&field) {
        return field;
    }
    let mut metadata = field.metadata().clone();
    metadata.insert(ARROW_EXT_NAME_KEY.into(), ARROW_JSON_EXT_NAME.into());
    field.with_metadata(metadata)
}

/// For each row the strings below the path `keys`, in a deterministic order; of an array, those of each element. A
/// column is in its stored form or text.
pub fn texts(column: &ArrayRef, keys: &[String]) -> Result<Vec<Vec<String>>> {
    let text = match column.data_type() {
        DataType::LargeBinary => {
            let stored = json_field("json", true);
            let values = JsonValues::try_new(&stored, column);
            values.map_or_else(|| column.clone(), |values| values.to_text())
        }
        _ => column.clone(),
    };
    let rows: Vec<Option<&str>> = match text.data_type() {
        DataType::Utf8 => text.as_string::<i32>().iter().collect(),
        DataType::LargeUtf8 => text.as_string::<i64>().iter().collect(),
        DataType::Utf8View => text.as_string_view().iter().collect(),
        other => return Err(Error::invalid(format!("{other} is no JSON"))),
    };
    rows.into_iter().map(|row| within(row, keys)).collect()
}

fn within(row: Option<&str>, keys: &[String]) -> Result<Vec<String>> {
    let mut found = Vec::new();
    if let Some(text) = row {
        let document: Value = serde_json::from_str(text)
            .map_err(|error| Error::internal("stored JSON could not be read", error))?;
        descend(document, keys, &mut found);
    }
    Ok(found)
}

fn descend(value: Value, keys: &[String], found: &mut Vec<String>) {
    match (value, keys) {
        (Value::String(text), []) => found.push(text),
        (Value::Array(elements), _) => {
            for element in elements {
                descend(element, keys, found);
            }
        }
        (Value::Object(members), []) => {
            for (_, member) in members {
                descend(member, &[], found);
            }
        }
        (Value::Object(mut members), [key, rest @ ..]) => {
            if let Some(member) = members.remove(key) {
                descend(member, rest, found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(document: &str, keys: &[&str]) -> Vec<String> {
        let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
        within(Some(document), &keys).unwrap()
    }

    #[test]
    fn strings_are_found_wherever_they_are() {
        let document = r#"{"a": "x", "b": {"c": ["y", {"d": "z"}, 1, null]}, "e": [[true, "w"]]}"#;
        assert_eq!(strings(document, &[]), ["x", "y", "z", "w"]);
        assert_eq!(strings(document, &["b"]), ["y", "z"]);
        assert_eq!(strings(document, &["b", "c", "d"]), ["z"]);
        assert_eq!(strings(document, &["a", "b"]), [""; 0]);
        assert_eq!(strings(document, &["nope"]), [""; 0]);
        assert_eq!(strings(r#""alone""#, &[]), ["alone"]);
    }

    #[test]
    fn null_has_no_texts() {
        assert_eq!(within(None, &[]).unwrap(), [""; 0]);
        assert_eq!(strings("null", &[]), [""; 0]);
    }
}
