//! Rows as clients send them.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::ipc::writer::StreamWriter;
use joust_core::ipc::UploadReader;
use joust_core::{Engine, EngineOptions};

/// Rows of one column, `n`.
pub fn numbers(range: Range<i64>) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(range));
    RecordBatch::try_from_iter([("n", numbers)]).unwrap()
}

/// Batches of one schema as the body of a request.
pub fn stream(batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batches[0].schema()).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.into_inner().unwrap()
}

pub fn upload(batch: &RecordBatch) -> UploadReader {
    upload_bytes(&stream(std::slice::from_ref(batch)))
}

pub fn upload_numbers(range: Range<i64>) -> UploadReader {
    upload(&numbers(range))
}

/// A body that has arrived whole.
pub fn upload_bytes(bytes: &[u8]) -> UploadReader {
    Engine::new(EngineOptions::default()).whole_upload(bytes)
}
