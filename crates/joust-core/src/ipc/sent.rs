//! Rows as clients send them, for tests.

use arrow::array::RecordBatch;
use arrow::ipc::writer::StreamWriter;

use super::UploadReader;
use crate::engine::Engine;

/// An upload that has arrived whole.
pub(crate) fn sent(to: &Engine, batch: &RecordBatch) -> UploadReader {
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    let (push, read) = to.upload();
    push.push(&writer.into_inner().unwrap());
    push.finish();
    read
}
