//! The types that casts may have.

use datafusion::sql::sqlparser::ast::{ArrayElemTypeDef, DataType, ExactNumberInfo, TimezoneInfo};

use super::size::Size;
use crate::error::{Error, Result};
use crate::names::short;

/// Nested lists.
const MAX_LISTS: usize = 4;
/// Values of a fixed-size list, and bytes of a fixed-size binary.
const MAX_FIXED: u64 = 8 << 10;
/// Bytes of a type's name in `arrow_cast`.
const MAX_NAME: usize = 200;

/// The size of a value after a cast.
pub fn cast(from: Size, to: &DataType) -> Result<Size> {
    of(from, to, 0)
}

fn of(from: Size, to: &DataType, lists: usize) -> Result<Size> {
    use DataType as T;
    let numeric = |info: &ExactNumberInfo| match info {
        ExactNumberInfo::PrecisionAndScale(precision, scale) => {
            (1..=76).contains(precision) && (-76..=76).contains(scale)
        }
        ExactNumberInfo::Precision(precision) => (1..=76).contains(precision),
        ExactNumberInfo::None => true,
    };
    match to {
        T::Boolean | T::Bool => Ok(Size::SMALL),
        T::TinyInt(_) | T::SmallInt(_) | T::Int(_) | T::Integer(_) | T::BigInt(_) => {
            Ok(Size::SMALL)
        }
        T::TinyIntUnsigned(_)
        | T::SmallIntUnsigned(_)
        | T::IntUnsigned(_)
        | T::IntegerUnsigned(_)
        | T::BigIntUnsigned(_) => Ok(Size::SMALL),
        T::Int2(_) | T::Int4(_) | T::Int8(_) | T::Int16 | T::Int32 | T::Int64 => Ok(Size::SMALL),
        T::Int2Unsigned(_)
        | T::Int4Unsigned(_)
        | T::Int8Unsigned(_)
        | T::UInt8
        | T::UInt16
        | T::UInt32
        | T::UInt64 => Ok(Size::SMALL),
        T::Float(_)
        | T::Real
        | T::Double(_)
        | T::DoublePrecision
        | T::Float4
        | T::Float8
        | T::Float32
        | T::Float64 => Ok(Size::SMALL),
        T::Date | T::Date32 | T::Datetime(_) | T::Interval { .. } => Ok(Size::SMALL),
        T::Time(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone)
        | T::Timestamp(_, _)
        | T::TimestampNtz(_) => Ok(Size::SMALL),
        T::Decimal(info) | T::Numeric(info) | T::Dec(info) if numeric(info) => Ok(Size::SMALL),
        // A number has up to 40 letters; a list has separators between its items.
        T::String(_)
        | T::Text
        | T::Varchar(_)
        | T::Nvarchar(_)
        | T::Char(_)
        | T::Character(_)
        | T::CharVarying(_)
        | T::CharacterVarying(_)
        | T::Binary(_)
        | T::Varbinary(_)
        | T::Bytea
        | T::Blob(_)
        | T::JSONB => Ok(from.times(4).plus(Size::SMALL)),
        T::Array(
            ArrayElemTypeDef::AngleBracket(inner)
            | ArrayElemTypeDef::Parenthesis(inner)
            | ArrayElemTypeDef::SquareBracket(inner, None),
        ) if lists < MAX_LISTS => {
            of(from, inner, lists + 1).map(|_| from.times(8).plus(Size::SMALL))
        }
        T::Array(ArrayElemTypeDef::SquareBracket(inner, Some(length)))
            if lists < MAX_LISTS && *length <= MAX_FIXED =>
        {
            of(from, inner, lists + 1).map(|_| from.times(8).plus(Size::literal(*length as usize)))
        }
        T::Array(_) => Err(refused("this ARRAY")),
        other => Err(refused(&shown(other))),
    }
}

/// Nested types are not shown: they may be deep.
fn shown(other: &DataType) -> String {
    use DataType as T;
    match other {
        T::Map(..)
        | T::Tuple(_)
        | T::Nested(_)
        | T::Struct(..)
        | T::Union(_)
        | T::Nullable(_)
        | T::LowCardinality(_)
        | T::Table(_)
        | T::NamedTable { .. } => "this type".to_string(),
        simple => short(&simple.to_string()),
    }
}

fn refused(name: &str) -> Error {
    Error::invalid(format!(
        "a value can't be cast to {name}; there are BOOLEAN, TINYINT, SMALLINT, INT, BIGINT (UNSIGNED), \
         FLOAT, DOUBLE, DECIMAL(precision, scale), STRING, BINARY, DATE, TIMESTAMP and lists of these"
    ))
}

/// The size of a value after a cast to an Arrow type by its name.
pub fn arrow_cast(from: Size, name: &str) -> Result<Size> {
    let depth = super::json::depth(name, b"(");
    // Lengths and precisions; a digit after a letter is part of a name, as in Int64.
    let mut length: u64 = 1;
    let mut digits = String::new();
    let mut is_name = false;
    for letter in name.chars().chain([')']) {
        if letter.is_ascii_digit() && !is_name {
            digits.push(letter);
            continue;
        }
        if !digits.is_empty() {
            let number: u64 = digits.parse().unwrap_or(u64::MAX);
            length = length.saturating_mul(number.max(1));
            digits.clear();
        }
        is_name = letter.is_ascii_alphanumeric();
    }
    if name.len() > MAX_NAME || depth > MAX_LISTS || length > MAX_FIXED {
        return Err(Error::invalid(format!(
            "a value can't be cast to {}: a type has at most {MAX_LISTS} lists in one another, and at \
             most {MAX_FIXED} values or bytes of a fixed number",
            short(name)
        )));
    }
    Ok(from
        .times(8)
        .plus(Size::SMALL)
        .plus(Size::literal(length as usize)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrow_type_is_bounded() {
        for name in [
            "Int64",
            "Utf8",
            "LargeUtf8",
            "Decimal128(38, 10)",
            "Timestamp(Nanosecond, Some(\"+02:00\"))",
            "FixedSizeBinary(16)",
            "FixedSizeList(1536, Float32)",
            "Dictionary(Int32, Utf8)",
            "List(Field { name: \"item\", data_type: Int32, nullable: true })",
        ] {
            assert!(arrow_cast(Size::COLUMN, name).is_ok(), "{name}");
        }
        for name in [
            "FixedSizeBinary(2147483647)",
            "FixedSizeList(8192, FixedSizeBinary(8192))",
            "FixedSizeBinary(99999999999999999999999)",
            "List(List(List(List(List(Int8)))))",
            &"List(".repeat(100_000),
        ] {
            assert!(arrow_cast(Size::COLUMN, name).is_err(), "{}", short(name));
        }
    }
}
