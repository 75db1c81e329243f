//! Arrays that report their own size.
//!
//! The columns of an IPC batch share one body, and Arrow reports the size of the underlying memory as the size of an
//! array: each column then seems to be as large as its batch. By that size Lance collects the values of a column until
//! they fill a page, and would write a page of every column for every batch.

use arrow::array::{ArrayData, ArrayRef, RecordBatch, RecordBatchOptions, make_array};
use arrow::buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer};
use arrow::error::ArrowError;
use bytes::Bytes;

/// The same values in the same memory; each column reports its own size.
pub(super) fn own_size(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let columns: Result<Vec<ArrayRef>, ArrowError> = batch
        .columns()
        .iter()
        .map(|column| Ok(make_array(data(&column.to_data())?)))
        .collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns?, &options)
}

fn data(of: &ArrayData) -> Result<ArrayData, ArrowError> {
    let children: Result<Vec<ArrayData>, ArrowError> = of.child_data().iter().map(data).collect();
    let nulls = of.nulls().map(|nulls| {
        let bits = nulls.inner();
        let bytes = buffer(bits.inner());
        NullBuffer::new(BooleanBuffer::new(bytes, bits.offset(), bits.len()))
    });
    of.clone()
        .into_builder()
        .buffers(of.buffers().iter().map(buffer).collect())
        .nulls(nulls)
        .child_data(children?)
        .build()
}

/// A slice of a larger buffer as a buffer that ends with it.
fn buffer(part: &Buffer) -> Buffer {
    if part.is_empty() {
        return MutableBuffer::new(0).into();
    }
    match part.capacity() == part.len() {
        true => part.clone(),
        false => Buffer::from(Bytes::from_owner(Part(part.clone()))),
    }
}

struct Part(Buffer);

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        Array, BooleanArray, DictionaryArray, Float32Array, Int8Array, Int64Array, ListArray,
        StringArray, StringViewArray, StructArray,
    };
    use arrow::datatypes::{Field, Float32Type, Int32Type};
    use arrow::ipc::reader::StreamDecoder;
    use arrow::ipc::writer::StreamWriter;

    use super::*;

    /// A column of every layout: nulls, offsets, children, views, a dictionary, bits.
    fn columns() -> Vec<(&'static str, ArrayRef)> {
        let words = ["a", "", "a word that is too long for a view", "ü"];
        let word = |row: i64| (row % 5 < 4).then(|| words[row as usize % 5 % 4]);
        let rows = || 0..1_000_i64;
        let numbers = Int64Array::from_iter(rows().map(|row| (row % 3 > 0).then_some(row)));
        let lists = rows().map(|row| (row % 7 > 0).then(|| vec![Some(row as f32); 3]));
        let field = Arc::new(Field::new("inner", numbers.data_type().clone(), true));
        vec![
            (
                "large",
                Arc::new(Float32Array::from(vec![1.0; 100_000]).slice(0, 1_000)) as ArrayRef,
            ),
            ("numbers", Arc::new(numbers.clone())),
            (
                "bits",
                Arc::new(BooleanArray::from_iter(
                    rows().map(|row| Some(row % 2 == 0)),
                )),
            ),
            ("words", Arc::new(StringArray::from_iter(rows().map(word)))),
            (
                "views",
                Arc::new(StringViewArray::from_iter(rows().map(word))),
            ),
            (
                "lists",
                Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(lists)),
            ),
            (
                "named",
                Arc::new(StructArray::from(vec![(
                    field,
                    Arc::new(numbers) as ArrayRef,
                )])),
            ),
            (
                "coded",
                Arc::new(rows().map(word).collect::<DictionaryArray<Int32Type>>()),
            ),
            ("empty", Arc::new(StringArray::from(vec![""; 1_000]))),
            ("none", Arc::new(Int8Array::new_null(1_000))),
        ]
    }

    #[test]
    fn columns_keep_their_values_and_are_as_large_as_these() {
        let sent = RecordBatch::try_from_iter_with_nullable(
            columns()
                .into_iter()
                .map(|(name, column)| (name, column, true)),
        )
        .unwrap();
        let mut writer = StreamWriter::try_new(Vec::new(), &sent.schema()).unwrap();
        writer.write(&sent).unwrap();
        let mut bytes = Buffer::from(writer.into_inner().unwrap());
        let received = StreamDecoder::new().decode(&mut bytes).unwrap().unwrap();
        let sized = own_size(&received).unwrap();
        assert_eq!(sized, sent);
        for (column, received) in sized.columns().iter().zip(received.columns()) {
            assert_eq!(spare(&column.to_data()), 0, "{}", column.data_type());
            assert!(spare(&received.to_data()) > 0);
        }
    }

    /// Bytes that an array reports beyond its content.
    fn spare(of: &ArrayData) -> usize {
        let nulls = of.nulls().map(NullBuffer::buffer);
        let own = of.buffers().iter().chain(nulls);
        own.map(|buffer| buffer.capacity() - buffer.len())
            .chain(of.child_data().iter().map(spare))
            .sum()
    }

    #[test]
    fn rows_without_columns_are_counted() {
        let schema = Arc::new(arrow::datatypes::Schema::empty());
        let options = RecordBatchOptions::new().with_row_count(Some(3));
        let batch = RecordBatch::try_new_with_options(schema, vec![], &options).unwrap();
        assert_eq!(own_size(&batch).unwrap().num_rows(), 3);
    }
}
