//! Parameters that arrive as a row of Arrow columns.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, TimeUnit, UInt64Type};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use serde_json::{Number, Value, json};

use super::parameters::ValueType;
use crate::error::{Error, Result};
use crate::names::short;

/// The body of a request for a statement: JSON `{query, parameters, names, types}`. Column *i* of `parameters` is `$i` and
/// `$name`; the batch has one row. `open`: the values of the parameters are not known.
pub fn request_body(query: &str, parameters: Option<&RecordBatch>, open: bool) -> Result<Vec<u8>> {
    let mut body = json!({ "query": query, "open": open });
    if let Some(batch) = parameters {
        if batch.num_rows() != 1 {
            return Err(Error::invalid(format!(
                "the parameters have {} rows; bind one row",
                batch.num_rows()
            )));
        }
        let fields = batch.schema_ref().fields();
        let values = fields.iter().zip(batch.columns()).map(|(field, column)| {
            value(column).map_err(|error| {
                let name = short(field.name());
                Error::invalid(format!("parameter `{name}`: {}", error.message()))
            })
        });
        let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
        body["parameters"] = values.collect::<Result<Vec<_>>>()?.into();
        body["names"] = names.into();
        let types: Vec<_> = fields
            .iter()
            .map(|field| type_of(field.data_type()))
            .collect();
        if types.iter().any(Option::is_some) {
            body["types"] = json!(types);
        }
    }
    Ok(body.to_string().into_bytes())
}

/// The type of values that are texts in JSON, if Lance has it.
fn type_of(data_type: &DataType) -> Option<ValueType> {
    match data_type {
        DataType::Date32 => Some(ValueType::Date),
        DataType::Date64 => Some(ValueType::Timestamp(3)),
        DataType::Timestamp(unit, _) => Some(ValueType::Timestamp(match unit {
            TimeUnit::Second => 0,
            TimeUnit::Millisecond => 3,
            TimeUnit::Microsecond => 6,
            TimeUnit::Nanosecond => 9,
        })),
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale) => {
            let scale = u8::try_from(*scale).ok()?;
            Some(ValueType::Decimal(*precision, scale))
        }
        _ => None,
    }
}

/// The only value of a column.
fn value(column: &ArrayRef) -> Result<Value> {
    use DataType as T;
    if column.is_null(0) {
        return Ok(Value::Null);
    }
    Ok(match column.data_type() {
        T::Null => Value::Null,
        T::Boolean => column.as_boolean().value(0).into(),
        T::Int8 | T::Int16 | T::Int32 | T::Int64 | T::UInt8 | T::UInt16 | T::UInt32 => {
            let number = cast(column, &T::Int64)?;
            number.as_primitive::<Int64Type>().value(0).into()
        }
        T::UInt64 => column.as_primitive::<UInt64Type>().value(0).into(),
        T::Float16 | T::Float32 | T::Float64 => {
            let number = cast(column, &T::Float64)?;
            let number = number.as_primitive::<Float64Type>().value(0);
            let finite = Number::from_f64(number);
            finite.map(Value::Number).ok_or_else(|| {
                Error::invalid(format!("{number} can't be a value; give a finite number"))
            })?
        }
        T::Utf8 | T::LargeUtf8 | T::Utf8View => {
            let text = cast(column, &T::Utf8)?;
            text.as_string::<i32>().value(0).into()
        }
        T::Dictionary(_, values) => value(&cast(column, values)?)?,
        T::List(_) => items(&column.as_list::<i32>().value(0))?,
        T::LargeList(_) => items(&column.as_list::<i64>().value(0))?,
        T::FixedSizeList(..) => items(&column.as_fixed_size_list().value(0))?,
        T::Date32
        | T::Date64
        | T::Time32(_)
        | T::Time64(_)
        | T::Timestamp(..)
        | T::Decimal32(..)
        | T::Decimal64(..)
        | T::Decimal128(..)
        | T::Decimal256(..) => {
            let options = FormatOptions::new().with_display_error(false);
            let text = ArrayFormatter::try_new(column.as_ref(), &options)?;
            text.value(0).try_to_string()?.into()
        }
        other => {
            return Err(Error::invalid(format!(
                "a value of the type {other} can't be bound; give a text, number, boolean, date, time, null or \
                 list"
            )));
        }
    })
}

fn items(list: &ArrayRef) -> Result<Value> {
    let items = (0..list.len()).map(|at| value(&Arc::clone(list).slice(at, 1)));
    Ok(Value::Array(items.collect::<Result<_>>()?))
}

#[cfg(test)]
mod tests {
    use arrow::array::{
        BinaryArray, Date32Array, Decimal128Array, Float64Array, Int64Array, LargeStringArray,
        ListArray, NullArray, UInt64Array,
    };
    use arrow::datatypes::Float32Type;

    use super::*;

    fn body(columns: Vec<(&str, ArrayRef)>) -> Result<Value> {
        let batch = RecordBatch::try_from_iter(columns)?;
        let body = request_body("SELECT 1", Some(&batch), false)?;
        Ok(serde_json::from_slice(&body).unwrap())
    }

    #[test]
    fn a_row_becomes_values_and_names() {
        let list = ListArray::from_iter_primitive::<Float32Type, _, _>([Some([Some(0.5), None])]);
        let decimal = Decimal128Array::from(vec![125]).with_precision_and_scale(5, 2);
        let body = body(vec![
            ("a", Arc::new(Int64Array::from(vec![i64::MIN])) as _),
            ("b", Arc::new(UInt64Array::from(vec![u64::MAX])) as _),
            ("c", Arc::new(LargeStringArray::from(vec!["it's"])) as _),
            ("d", Arc::new(NullArray::new(1)) as _),
            ("e", Arc::new(list) as _),
            ("f", Arc::new(Date32Array::from(vec![1])) as _),
            ("g", Arc::new(decimal.unwrap()) as _),
        ])
        .unwrap();
        assert_eq!(
            body["parameters"].to_string(),
            "[-9223372036854775808,18446744073709551615,\"it's\",null,[0.5,null],\"1970-01-02\",\"1.25\"]"
        );
        assert_eq!(body["names"].as_array().unwrap().len(), 7);
        assert_eq!(
            body["types"].to_string(),
            r#"[null,null,null,null,null,"date",{"decimal":[5,2]}]"#
        );
    }

    #[test]
    fn parameters_without_a_sql_value_are_refused() {
        let refused = |column: ArrayRef| {
            let error = body(vec![("x", column)]).unwrap_err();
            error.message().to_string()
        };
        assert!(refused(Arc::new(Float64Array::from(vec![f64::NAN]))).contains("finite"));
        assert!(refused(Arc::new(BinaryArray::from(vec![&b"x"[..]]))).contains("Binary"));
        assert!(refused(Arc::new(Int64Array::from(vec![1, 2]))).contains("2 rows"));
    }
}
