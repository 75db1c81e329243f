//! Values as JSON and as plain text.
//!
//! | Arrow | JSON |
//! |---|---|
//! | integers | a number up to 2^53 - 1, which every reader represents exactly; a string beyond |
//! | floats | a number; `"NaN"`, `"Infinity"` and `"-Infinity"` are strings |
//! | decimals | a string |
//! | dates, times, timestamps, intervals, durations | a string, ISO 8601 where there is a form |
//! | binary | a string, base64 |
//! | lists | an array |
//! | structs | an object |
//! | maps | an array of objects with `key` and `value` |
//! | dictionaries | their values |

use std::fmt::Write;

use arrow::array::{Array, AsArray};
use arrow::datatypes::DataType;
use arrow::util::display::{ArrayFormatter, DurationFormat, FormatOptions};

use crate::error::Result;

/// The largest integer up to which a double represents all integers exactly.
const MAX_EXACT: i128 = (1 << 53) - 1;
const OPTIONS: FormatOptions<'static> = FormatOptions::new()
    .with_display_error(false)
    .with_duration_format(DurationFormat::ISO8601);

/// The values of a column.
pub struct Cell<'a> {
    array: &'a dyn Array,
    kind: Kind<'a>,
}

enum Kind<'a> {
    Null,
    /// Text that is valid JSON unchanged.
    Bare(ArrayFormatter<'a>),
    Integer(ArrayFormatter<'a>),
    Float(ArrayFormatter<'a>),
    /// Text without a character that JSON would escape.
    Quoted(ArrayFormatter<'a>),
    Text(ArrayFormatter<'a>),
    Binary(Box<dyn Fn(usize) -> &'a [u8] + 'a>),
    List(Box<Cell<'a>>, Box<dyn Fn(usize) -> (usize, usize) + 'a>),
    Struct(Vec<(String, Cell<'a>)>),
    Map {
        keys: Box<Cell<'a>>,
        values: Box<Cell<'a>>,
        range: Box<dyn Fn(usize) -> (usize, usize) + 'a>,
    },
    Dictionary(Box<Cell<'a>>, Vec<usize>),
}

impl<'a> Cell<'a> {
    pub fn new(array: &'a dyn Array) -> Result<Self> {
        use DataType as T;
        let text = || ArrayFormatter::try_new(array, &OPTIONS);
        let kind = match array.data_type() {
            T::Null => Kind::Null,
            T::Boolean | T::Int8 | T::Int16 | T::Int32 | T::UInt8 | T::UInt16 | T::UInt32 => {
                Kind::Bare(text()?)
            }
            T::Int64 | T::UInt64 => Kind::Integer(text()?),
            T::Float16 | T::Float32 | T::Float64 => Kind::Float(text()?),
            T::Decimal32(..)
            | T::Decimal64(..)
            | T::Decimal128(..)
            | T::Decimal256(..)
            | T::Date32
            | T::Date64
            | T::Time32(_)
            | T::Time64(_)
            | T::Timestamp(..)
            | T::Duration(_)
            | T::Interval(_) => Kind::Quoted(text()?),
            T::Binary => {
                let array = array.as_binary::<i32>();
                Kind::Binary(Box::new(|row| array.value(row)))
            }
            T::LargeBinary => {
                let array = array.as_binary::<i64>();
                Kind::Binary(Box::new(|row| array.value(row)))
            }
            T::BinaryView => {
                let array = array.as_binary_view();
                Kind::Binary(Box::new(|row| array.value(row)))
            }
            T::FixedSizeBinary(_) => {
                let array = array.as_fixed_size_binary();
                Kind::Binary(Box::new(|row| array.value(row)))
            }
            T::List(_) => {
                let array = array.as_list::<i32>();
                let offsets = array.value_offsets();
                let range = |row: usize| (offsets[row] as usize, offsets[row + 1] as usize);
                Kind::List(Box::new(Self::new(array.values())?), Box::new(range))
            }
            T::LargeList(_) => {
                let array = array.as_list::<i64>();
                let offsets = array.value_offsets();
                let range = |row: usize| (offsets[row] as usize, offsets[row + 1] as usize);
                Kind::List(Box::new(Self::new(array.values())?), Box::new(range))
            }
            T::FixedSizeList(_, length) => {
                let length = *length as usize;
                let values = Self::new(array.as_fixed_size_list().values())?;
                let range = move |row: usize| (row * length, (row + 1) * length);
                Kind::List(Box::new(values), Box::new(range))
            }
            T::Struct(fields) => {
                let columns = array.as_struct().columns();
                let members = fields.iter().zip(columns).map(|(field, column)| {
                    Ok::<_, crate::Error>((json_text(field.name()), Self::new(column)?))
                });
                Kind::Struct(members.collect::<Result<_>>()?)
            }
            T::Map(..) => {
                let array = array.as_map();
                let offsets = array.value_offsets();
                Kind::Map {
                    keys: Box::new(Self::new(array.keys())?),
                    values: Box::new(Self::new(array.values())?),
                    range: Box::new(|row| (offsets[row] as usize, offsets[row + 1] as usize)),
                }
            }
            T::Dictionary(..) => {
                let array = array.as_any_dictionary();
                Kind::Dictionary(
                    Box::new(Self::new(array.values())?),
                    array.normalized_keys(),
                )
            }
            _ => Kind::Text(text()?),
        };
        Ok(Self { array, kind })
    }

    pub fn is_null(&self, row: usize) -> bool {
        match &self.kind {
            Kind::Null => true,
            Kind::Dictionary(values, keys) => self.array.is_null(row) || values.is_null(keys[row]),
            _ => self.array.is_null(row),
        }
    }

    pub fn json(&self, row: usize, out: &mut String) -> Result<()> {
        if self.is_null(row) {
            out.push_str("null");
            return Ok(());
        }
        match &self.kind {
            Kind::Null => out.push_str("null"),
            Kind::Bare(text) => text.value(row).write(out)?,
            Kind::Integer(text) => {
                let from = out.len();
                text.value(row).write(out)?;
                let exact = out[from..].parse::<i128>();
                if !exact.is_ok_and(|value| value.abs() <= MAX_EXACT) {
                    quote(out, from);
                }
            }
            Kind::Float(text) => {
                let from = out.len();
                text.value(row).write(out)?;
                if name_float(out, from) {
                    quote(out, from);
                }
            }
            Kind::Quoted(text) => {
                out.push('"');
                text.value(row).write(out)?;
                out.push('"');
            }
            Kind::Text(text) => {
                let mut plain = String::new();
                text.value(row).write(&mut plain)?;
                out.push_str(&json_text(&plain));
            }
            Kind::Binary(value) => {
                out.push('"');
                base64(value(row), out);
                out.push('"');
            }
            Kind::List(values, range) => {
                let (from, to) = range(row);
                list(from, to, out, |at, out| values.json(at, out))?;
            }
            Kind::Struct(members) => {
                out.push('{');
                for (at, (name, values)) in members.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    out.push_str(name);
                    out.push(':');
                    values.json(row, out)?;
                }
                out.push('}');
            }
            Kind::Map {
                keys,
                values,
                range,
            } => {
                let (from, to) = range(row);
                list(from, to, out, |at, out| {
                    out.push_str("{\"key\":");
                    keys.json(at, out)?;
                    out.push_str(",\"value\":");
                    values.json(at, out)?;
                    out.push('}');
                    Ok(())
                })?;
            }
            Kind::Dictionary(values, keys) => values.json(keys[row], out)?,
        }
        Ok(())
    }

    /// The value as text without quotes; nested values are JSON.
    pub fn plain(&self, row: usize, out: &mut String) -> Result<()> {
        if self.is_null(row) {
            return Ok(());
        }
        match &self.kind {
            Kind::Bare(text) | Kind::Integer(text) | Kind::Quoted(text) | Kind::Text(text) => {
                text.value(row).write(out)?;
            }
            Kind::Float(text) => {
                let from = out.len();
                text.value(row).write(out)?;
                name_float(out, from);
            }
            Kind::Binary(value) => base64(value(row), out),
            Kind::Dictionary(values, keys) => values.plain(keys[row], out)?,
            Kind::Null | Kind::List(..) | Kind::Struct(_) | Kind::Map { .. } => {
                self.json(row, out)?;
            }
        }
        Ok(())
    }
}

fn list(
    from: usize,
    to: usize,
    out: &mut String,
    mut item: impl FnMut(usize, &mut String) -> Result<()>,
) -> Result<()> {
    out.push('[');
    for at in from..to {
        if at > from {
            out.push(',');
        }
        item(at, out)?;
    }
    out.push(']');
    Ok(())
}

fn quote(out: &mut String, from: usize) {
    out.insert(from, '"');
    out.push('"');
}

/// Replaces NaN and infinities by their usual names; returns whether it was a number.
fn name_float(out: &mut String, from: usize) -> bool {
    let name = match &out[from..] {
        "NaN" => "NaN",
        "inf" => "Infinity",
        "-inf" => "-Infinity",
        _ => return false,
    };
    out.truncate(from);
    out.push_str(name);
    true
}

/// A text as a JSON string.
pub fn json_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control < ' ' => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{:04x}", control as u32);
            }
            plain => out.push(plain),
        }
    }
    out.push('"');
    out
}

fn base64(bytes: &[u8], out: &mut String) {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for group in bytes.chunks(3) {
        let [first, second, third] = [0, 1, 2].map(|at| group.get(at).copied().unwrap_or(0));
        let bits = u32::from_be_bytes([0, first, second, third]);
        for at in 0..4 {
            match at <= group.len() {
                true => out.push(LETTERS[(bits >> (18 - 6 * at) & 63) as usize] as char),
                false => out.push('='),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        for (bytes, wanted) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            let mut out = String::new();
            base64(bytes.as_bytes(), &mut out);
            assert_eq!(out, wanted);
        }
    }

    #[test]
    fn a_text_is_a_json_string() {
        let text = "a\"b\\c\n\r\t\u{1}\u{7f}é\u{1f600}";
        let read: String = serde_json::from_str(&json_text(text)).unwrap();
        assert_eq!(read, text);
    }
}
