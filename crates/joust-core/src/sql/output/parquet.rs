//! Rows as a Parquet file, written front to back: a row group is sent as soon as it is complete.

use std::io::Write;
use std::sync::Arc;

use arrow::array::{Array, RecordBatch};
use arrow::datatypes::{DataType, Field, IntervalUnit, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use crate::error::{Code, Error, Result};
use crate::ipc::Encode;
use crate::memory::{Memory, Reservation, Use};
use crate::names::short;

/// Memory of an unfinished row group, at which it is finished.
const ROW_GROUP: usize = 8 << 20;
/// Bytes of the rows that are encoded between two looks at the memory of the row group.
const STEP: usize = 1 << 20;
/// Memory of the encoder besides the footer: a row group, its bytes in the file, and the rows of a step.
pub const BYTES: usize = 2 * ROW_GROUP + 2 * STEP;
/// Memory that the footer needs for one column of one row group: its description and its least and greatest value.
const COLUMN_CHUNK: usize = 1 << 10;
/// The step in which memory for the footer is reserved.
const FOOTER: usize = 1 << 20;

pub struct Parquet {
    writer: ArrowWriter<Sink>,
    columns: usize,
    memory: Memory,
    /// The footer describes every row group and is written at the end: it grows with the result.
    footer: Option<Reservation>,
    row_groups: usize,
}

impl Parquet {
    /// Fails if Parquet has no such columns.
    pub fn new(schema: &Schema, memory: Memory) -> Result<Self> {
        for (at, field) in schema.fields().iter().enumerate() {
            if let Some(reason) = unsupported(field.data_type()) {
                return Err(Error::invalid(format!(
                    "Parquet cannot hold the column `{}`: {reason}; use CAST, or ask for Arrow",
                    short(field.name())
                )));
            }
            let earlier = &schema.fields()[..at];
            if earlier.iter().any(|other| other.name() == field.name()) {
                return Err(Error::invalid(format!(
                    "the query gives two columns `{}`, and a Parquet file can have one: name them with AS, or ask \
                     for Arrow",
                    short(field.name())
                )));
            }
        }
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(None)
            // The writer would hold it for every page until the end.
            .set_offset_index_disabled(true)
            .build();
        let sink = Sink(Vec::with_capacity(4096));
        let schema = Arc::new(schema.clone());
        Ok(Self {
            columns: schema.flattened_fields().len(),
            writer: ArrowWriter::try_new(sink, schema, Some(properties)).map_err(failed)?,
            memory,
            footer: None,
            row_groups: 0,
        })
    }

    fn end_row_group(&mut self) -> Result<()> {
        // A vector that grows step by step would leave a copy of each size behind.
        let bytes = self.writer.in_progress_size();
        self.writer.inner_mut().0.reserve(bytes);
        self.writer.flush().map_err(failed)?;
        self.row_groups += 1;
        let needed = self.row_groups * self.columns * COLUMN_CHUNK;
        while self.footer.as_ref().map_or(0, Reservation::bytes) < needed {
            let more = self.memory.try_take(Use::Query, FOOTER).ok_or_else(|| {
                Error::new(
                    Code::Throttling,
                    "other requests hold the memory that the footer of this Parquet file needs; try again, or ask \
                     for Arrow",
                )
            })?;
            match &mut self.footer {
                Some(footer) => footer.merge(more),
                None => self.footer = Some(more),
            }
        }
        Ok(())
    }
}

impl Encode for Parquet {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = batch.num_rows();
        let step = (rows * STEP)
            .div_ceil(size(batch)?.max(1))
            .clamp(1, rows.max(1));
        for start in (0..rows).step_by(step) {
            let part = batch.slice(start, step.min(rows - start));
            self.writer.write(&part).map_err(failed)?;
            if self.writer.memory_size() >= ROW_GROUP {
                self.end_row_group()?;
            }
        }
        Ok(())
    }

    /// Writes the last row group and the footer.
    fn finish(&mut self) -> Result<()> {
        self.writer.finish().map_err(failed)?;
        Ok(())
    }

    fn pending(&mut self) -> usize {
        // The rows of an unfinished row group are not bytes of the file yet.
        self.writer.inner().0.len()
    }

    fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.writer.inner_mut().0)
    }
}

/// Bytes of the rows of a batch, which may be a part of larger arrays.
fn size(batch: &RecordBatch) -> Result<usize> {
    let mut bytes = 0;
    for column in batch.columns() {
        bytes += column.to_data().get_slice_memory_size()?;
    }
    Ok(bytes)
}

/// The reason why Parquet has no form for a type.
fn unsupported(data_type: &DataType) -> Option<String> {
    let any = |mut fields: std::slice::Iter<'_, Arc<Field>>| {
        fields.find_map(|field| unsupported(field.data_type()))
    };
    match data_type {
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            Some("it has no intervals of months, days and nanoseconds".to_owned())
        }
        DataType::Union(..) => Some("it has no unions".to_owned()),
        DataType::RunEndEncoded(..) => Some("it has no run-end encoded arrays".to_owned()),
        DataType::Struct(fields) if fields.is_empty() => {
            Some("it has no structs without members".to_owned())
        }
        DataType::Struct(fields) => any(fields.iter()),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => unsupported(item.data_type()),
        DataType::Dictionary(_, value) if value.is_nested() => {
            Some("it has no dictionaries of lists and structs".to_owned())
        }
        DataType::Dictionary(_, value) => unsupported(value),
        _ => None,
    }
}

fn failed(error: ParquetError) -> Error {
    match error {
        ParquetError::NYI(reason) | ParquetError::ArrowError(reason) => {
            Error::invalid(format!("the rows cannot be written as Parquet: {reason}"))
        }
        other => Error::internal("the rows could not be written as Parquet", other),
    }
}

/// The writer is buffered and takes no vector: this collects its bytes.
struct Sink(Vec<u8>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{
        ArrayRef, AsArray, FixedSizeListArray, Float32Array, Int64Array, StringArray,
    };
    use arrow::compute::concat_batches;
    use arrow::datatypes::{Int64Type, UnionFields, UnionMode};
    use bytes::Bytes;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    use super::*;
    use crate::memory::Budget;

    fn memory() -> Memory {
        Memory::new(Budget::new(1 << 30, None, None, None))
    }

    fn batch(rows: i64, dimensions: usize) -> RecordBatch {
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
        let texts: ArrayRef = Arc::new(StringArray::from_iter(
            (0..rows).map(|row| (row % 3 != 0).then(|| format!("text {row}"))),
        ));
        let item = Arc::new(Field::new_list_field(DataType::Float32, true));
        let values = (0..rows as usize * dimensions).map(|at| (at as f32 * 0.7).sin());
        let values = Arc::new(Float32Array::from_iter_values(values));
        let vectors: ArrayRef = Arc::new(FixedSizeListArray::new(
            item,
            i32::try_from(dimensions).unwrap(),
            values,
            None,
        ));
        RecordBatch::try_from_iter([("id", ids), ("text", texts), ("vector", vectors)]).unwrap()
    }

    fn read(file: Vec<u8>) -> (usize, Vec<RecordBatch>) {
        let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(file)).unwrap();
        let row_groups = reader.metadata().num_row_groups();
        (
            row_groups,
            reader.build().unwrap().map(Result::unwrap).collect(),
        )
    }

    #[test]
    fn a_file_taken_in_parts_has_the_same_rows() {
        let whole = batch(5_000, 8);
        let mut encoder = Parquet::new(&whole.schema(), memory()).unwrap();
        let mut file = encoder.take();
        for start in [0, 1_000, 3_000] {
            let rows = if start == 0 { 1_000 } else { 2_000 };
            encoder.write(&whole.slice(start, rows)).unwrap();
            file.extend(encoder.take());
        }
        encoder.finish().unwrap();
        file.extend(encoder.take());
        let (row_groups, batches) = read(file);
        assert_eq!(row_groups, 1);
        let got = concat_batches(&batches[0].schema(), &batches).unwrap();
        assert_eq!(got.columns(), whole.columns());
        assert_eq!(got.schema().fields(), whole.schema().fields());
    }

    #[test]
    fn an_encoder_holds_one_row_group_however_large_a_batch_is() {
        let large = batch(40_000, 256);
        let mut encoder = Parquet::new(&large.schema(), memory()).unwrap();
        encoder.write(&large).unwrap();
        assert!(encoder.writer.memory_size() < ROW_GROUP + 2 * STEP);
        assert!(encoder.pending() > ROW_GROUP);
        encoder.finish().unwrap();
        let (row_groups, batches) = read(encoder.take());
        assert!(row_groups > 1);
        let last = batches
            .last()
            .unwrap()
            .column(0)
            .as_primitive::<Int64Type>();
        assert_eq!(last.values().last(), Some(&39_999));
    }

    #[test]
    fn no_rows_are_still_a_file_with_columns() {
        let schema = batch(0, 4).schema();
        let mut encoder = Parquet::new(&schema, memory()).unwrap();
        encoder.finish().unwrap();
        let file = Bytes::from(encoder.take());
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        assert_eq!(reader.schema().fields(), schema.fields());
        assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
    }

    #[test]
    fn columns_that_parquet_cannot_hold_are_refused() {
        let of = |data_type: DataType| {
            let fields = vec![
                Field::new("a", DataType::Int64, true),
                Field::new("b", data_type, true),
            ];
            let error = Parquet::new(&Schema::new(fields), memory()).err();
            error.map(|error| error.message().to_owned())
        };
        let interval = DataType::Interval(IntervalUnit::MonthDayNano);
        let item = |data_type: DataType| Arc::new(Field::new_list_field(data_type, true));
        for refused in [
            interval.clone(),
            DataType::List(item(interval.clone())),
            DataType::Struct([item(interval)].into_iter().collect()),
            DataType::Struct(Default::default()),
            DataType::Union(UnionFields::empty(), UnionMode::Dense),
        ] {
            let message = of(refused.clone()).unwrap_or_default();
            assert!(
                message.contains("cannot hold the column `b`"),
                "{refused}: {message}"
            );
        }
        for held in [
            DataType::Null,
            DataType::Float16,
            DataType::Decimal256(40, 1),
            DataType::Utf8View,
        ] {
            assert_eq!(of(held), None);
        }
        let twice = vec![Field::new("a", DataType::Int64, true); 2];
        let error = Parquet::new(&Schema::new(twice), memory()).err().unwrap();
        assert!(error.message().contains("two columns `a`"), "{error}");
    }
}
