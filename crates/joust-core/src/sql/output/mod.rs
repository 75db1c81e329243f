//! Encodings of the rows of a statement: Arrow, JSON, CSV or Parquet.

mod cell;
mod csv;
mod json;
mod parquet;

use arrow::datatypes::Schema;

use crate::error::{Error, Result};
use crate::ipc::{Encode, Encoder, Format};
use crate::memory::Memory;

/// Limits of the rows and bytes of a result in one JSON text. It is built completely before any of it is sent, so that
/// a failure has an HTTP status.
const MAX_JSON_ROWS: u64 = 10_000;
const MAX_JSON_BYTES: usize = crate::query::FIRST_PART - (64 << 10);

/// The formats of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    Arrow(Format),
    /// One text with all rows, of bounded size.
    Json,
    /// One object per line, without a limit.
    JsonLines,
    Csv,
    /// A Parquet file, of any size.
    Parquet,
}

impl Output {
    /// The most rows to read: one more than allowed shows that there are too many.
    pub fn most_rows(self) -> Option<u64> {
        (self == Self::Json).then_some(MAX_JSON_ROWS + 1)
    }

    /// Memory of its encoder besides the encoded bytes, which a statement reserves.
    pub fn bytes(self) -> usize {
        match self {
            Self::Parquet => parquet::BYTES,
            _ => 0,
        }
    }

    /// `memory`: for what grows with the result.
    pub fn encoder(self, schema: &Schema, memory: &Memory) -> Result<Box<dyn Encode>> {
        Ok(match self {
            Self::Arrow(format) => Box::new(Encoder::new(format, schema)?),
            Self::Json => Box::new(json::Document::new(schema)?),
            Self::JsonLines => Box::new(json::Lines::new(schema)?),
            Self::Csv => Box::new(csv::Csv::new(schema)),
            Self::Parquet => Box::new(parquet::Parquet::new(schema, memory.clone())?),
        })
    }
}

fn too_large() -> Error {
    Error::invalid(format!(
        "the answer has more than {MAX_JSON_ROWS} rows or {} MiB as JSON; set `limit`, or ask for Arrow with \
         the header Accept: application/vnd.apache.arrow.stream",
        MAX_JSON_BYTES.div_ceil(1 << 20)
    ))
}
