//! Results that the server makes: of statements that change something, and of those that list names.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use super::output::Output;
use super::rows::{Rows, Started};
use crate::deadline::Deadline;
use crate::error::Result;
use crate::memory::{Memory, Use};
use crate::query::Answer;

/// Memory of a result besides its values, bytes.
const FIXED: usize = 64 << 10;

/// A column without nulls.
pub struct Column {
    pub name: String,
    pub values: Values,
}

pub enum Values {
    Numbers(Vec<i64>),
    Texts(Vec<String>),
}

impl Values {
    fn bytes(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.len() * 8,
            Self::Texts(texts) => texts.iter().map(|text| text.len() + 8).sum(),
        }
    }

    fn array(self) -> ArrayRef {
        match self {
            Self::Numbers(numbers) => Arc::new(Int64Array::from(numbers)),
            Self::Texts(texts) => Arc::new(StringArray::from(texts)),
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            Self::Numbers(_) => DataType::Int64,
            Self::Texts(_) => DataType::Utf8,
        }
    }
}

/// The answer with these columns, which have the same number of rows. Without columns it has no rows.
pub async fn answer(columns: Vec<Column>, output: Output, pool: &Memory) -> Result<Answer> {
    let started = started(columns, pool, output.bytes()).await?;
    let encoder = output.encoder(&started.schema, pool)?;
    Ok(started.into_answer(encoder))
}

/// As [`answer`], without an encoding.
pub async fn rows(columns: Vec<Column>, memory: &Memory) -> Result<Rows> {
    Ok(Rows::new(
        started(columns, memory, 0).await?,
        Deadline::new(None, ""),
    ))
}

/// The schema of a result with these columns.
pub fn schema(columns: &[Column]) -> SchemaRef {
    let fields = columns
        .iter()
        .map(|column| Field::new(&column.name, column.values.data_type(), false));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// `encoding`: memory that the encoder of the rows needs.
async fn started(columns: Vec<Column>, memory: &Memory, encoding: usize) -> Result<Started> {
    let bytes: usize = columns.iter().map(|column| column.values.bytes()).sum();
    let memory = memory
        .take(Use::Query, FIXED + 3 * bytes + encoding)
        .await?;
    let schema = schema(&columns);
    let values: Vec<ArrayRef> = columns
        .into_iter()
        .map(|column| column.values.array())
        .collect();
    let options =
        RecordBatchOptions::new().with_row_count(Some(values.first().map_or(0, Array::len)));
    let batch = RecordBatch::try_new_with_options(schema.clone(), values, &options)?;
    Ok(Started {
        schema,
        batches: super::run::one(batch),
        memory,
    })
}
