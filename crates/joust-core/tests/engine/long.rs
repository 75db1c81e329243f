//! Uploads that take their time.

use arrow::array::RecordBatch;
use joust_core::ipc::UploadReader;
use joust_core::{Engine, EngineOptions, Upload};

use crate::sent::stream;

/// Three times what the queue of an upload holds.
const BYTES: usize = 24 << 20;
/// What is still to come of it once it has begun.
const END: usize = 100;

/// An upload that is too long to be held in memory, and whose end is still to come.
pub struct Long {
    push: Upload,
    first: Vec<u8>,
    last: Vec<u8>,
}

impl Long {
    /// Of the same rows again and again.
    pub fn of(rows: &RecordBatch) -> (Self, UploadReader) {
        Self::of_bytes(rows, BYTES)
    }

    /// The same of so many bytes at least.
    pub fn of_bytes(rows: &RecordBatch, bytes: usize) -> (Self, UploadReader) {
        let (push, read) = Engine::new(EngineOptions::default()).upload();
        let times = bytes.div_ceil(rows.get_array_memory_size());
        let mut first = stream(&vec![rows.clone(); times]);
        let last = first.split_off(first.len() - END);
        (Self { push, first, last }, read)
    }

    /// Returns when most of it has been read, and rows are on their way to a file, or in one.
    pub async fn begin(&self) {
        for chunk in self.first.chunks(1 << 20) {
            if !self.push.push(chunk) {
                self.push.drained().await;
            }
        }
    }

    pub fn end(self) {
        self.push.push(&self.last);
        self.push.finish();
    }
}
