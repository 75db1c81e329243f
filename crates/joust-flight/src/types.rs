//! The types of columns, for `GetXdbcTypeInfo`.

use arrow_flight::error::FlightError;
use arrow_flight::sql::metadata::{XdbcTypeInfo, XdbcTypeInfoData, XdbcTypeInfoDataBuilder};
use arrow_flight::sql::{Nullable, Searchable, XdbcDataType as X};

/// What determines a type's row. The name is that of CREATE TABLE, or that of Arrow for a type that only other clients
/// can create.
struct Kind {
    name: &'static str,
    data_type: X,
    /// Digits, characters or bits.
    size: Option<i32>,
    form: Form,
}

enum Form {
    Signed,
    Unsigned,
    Float,
    Decimal,
    /// A literal has quotes.
    Text,
    Time,
    /// A list, a struct or bytes.
    Other,
}

/// The precision of the largest decimal.
const DIGITS: i32 = 76;

const fn kind(name: &'static str, data_type: X, size: Option<i32>, form: Form) -> Kind {
    Kind {
        name,
        data_type,
        size,
        form,
    }
}

const KINDS: &[Kind] = &[
    kind("BOOLEAN", X::XdbcBit, Some(1), Form::Other),
    kind("TINYINT", X::XdbcTinyint, Some(8), Form::Signed),
    kind("SMALLINT", X::XdbcSmallint, Some(16), Form::Signed),
    kind("INTEGER", X::XdbcInteger, Some(32), Form::Signed),
    kind("BIGINT", X::XdbcBigint, Some(64), Form::Signed),
    kind("TINYINT UNSIGNED", X::XdbcTinyint, Some(8), Form::Unsigned),
    kind(
        "SMALLINT UNSIGNED",
        X::XdbcSmallint,
        Some(16),
        Form::Unsigned,
    ),
    kind("INTEGER UNSIGNED", X::XdbcInteger, Some(32), Form::Unsigned),
    kind("BIGINT UNSIGNED", X::XdbcBigint, Some(64), Form::Unsigned),
    kind("float16", X::XdbcFloat, Some(11), Form::Float),
    kind("REAL", X::XdbcReal, Some(24), Form::Float),
    kind("DOUBLE", X::XdbcDouble, Some(53), Form::Float),
    kind("DECIMAL", X::XdbcDecimal, Some(DIGITS), Form::Decimal),
    kind("VARCHAR", X::XdbcVarchar, None, Form::Text),
    kind("JSON", X::XdbcVarchar, None, Form::Text),
    kind("large_string", X::XdbcLongvarchar, None, Form::Text),
    kind("BYTEA", X::XdbcVarbinary, None, Form::Other),
    kind("fixed_size_binary", X::XdbcBinary, None, Form::Other),
    kind("large_binary", X::XdbcLongvarbinary, None, Form::Other),
    kind("DATE", X::XdbcDate, Some(10), Form::Time),
    kind("TIME", X::XdbcTime, Some(18), Form::Time),
    kind("TIMESTAMP", X::XdbcTimestamp, Some(29), Form::Time),
    kind("duration", X::XdbcUnknownType, None, Form::Other),
    kind("INTERVAL", X::XdbcInterval, None, Form::Time),
    kind("list", X::XdbcUnknownType, None, Form::Other),
    kind("fixed_size_list", X::XdbcUnknownType, None, Form::Other),
    kind("struct", X::XdbcUnknownType, None, Form::Other),
    kind("map", X::XdbcUnknownType, None, Form::Other),
];

pub fn types() -> Result<XdbcTypeInfoData, FlightError> {
    let mut types = XdbcTypeInfoDataBuilder::new();
    for kind in KINDS {
        types.append(kind.info());
    }
    types.build()
}

impl Kind {
    fn info(&self) -> XdbcTypeInfo {
        let quote = match self.form {
            Form::Text | Form::Time => Some("'".to_string()),
            _ => None,
        };
        let (unsigned_attribute, num_prec_radix) = match self.form {
            Form::Signed | Form::Float => (Some(false), Some(2)),
            Form::Unsigned => (Some(true), Some(2)),
            Form::Decimal => (Some(false), Some(10)),
            _ => (None, None),
        };
        let is_decimal = matches!(self.form, Form::Decimal);
        let parameters = ["precision", "scale"].map(str::to_string);
        XdbcTypeInfo {
            type_name: self.name.to_string(),
            data_type: self.data_type,
            column_size: self.size,
            literal_prefix: quote.clone(),
            literal_suffix: quote,
            create_params: is_decimal.then(|| parameters.to_vec()),
            nullable: Nullable::NullabilityNullable,
            case_sensitive: matches!(self.form, Form::Text),
            searchable: match self.form {
                Form::Text => Searchable::Full,
                // LIKE compares texts.
                _ => Searchable::Basic,
            },
            unsigned_attribute,
            minimum_scale: is_decimal.then_some(0),
            maximum_scale: is_decimal.then_some(DIGITS),
            sql_data_type: self.data_type,
            num_prec_radix,
            ..XdbcTypeInfo::default()
        }
    }
}
