//! Client uploads for tests.

use arrow::array::RecordBatch;
use arrow::ipc::writer::StreamWriter;

use super::{UploadReader, upload};
use crate::memory::Memory;

/// A complete upload.
pub(crate) fn sent(memory: &Memory, batch: &RecordBatch) -> UploadReader {
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    let (push, read) = upload(memory);
    push.push(&writer.into_inner().unwrap());
    push.finish();
    read
}
