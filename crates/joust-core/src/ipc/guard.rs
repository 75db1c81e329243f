//! Limits on the sizes in an Arrow message, checked before any allocation.
//!
//! The numbers in a message come from the client: a buffer with a decompressed size of a petabyte would abort the
//! process inside the decompressor, and a batch of null rows has no bytes at all.

use arrow::ipc;

use super::framing::{Message, malformed};
use crate::error::{Error, Result};

/// Bytes of one message's metadata.
pub const MAX_METADATA: usize = 16 << 20;
/// Bytes of one record batch, regardless of the available memory.
const MAX_BATCH: u64 = 2 << 30;
/// Rows of one record batch without any bytes.
const MAX_FREE_ROWS: u64 = 1_000_000;
/// Rows of one record batch.
const MAX_ROWS: i64 = i32::MAX as i64;

/// The limits of an upload.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of one record batch, as sent and as decompressed.
    batch: u64,
}

impl Limits {
    /// `batch`: bytes that fit into memory.
    pub fn new(batch: usize) -> Self {
        Self {
            batch: MAX_BATCH.min(batch as u64),
        }
    }

    /// The body's length, if it is within the limits.
    pub fn body_length(&self, message: &ipc::Message<'_>) -> Result<usize> {
        let length = message.bodyLength();
        match u64::try_from(length) {
            Ok(length) if length <= self.batch => Ok(length as usize),
            Ok(length) => Err(self.too_large(length)),
            Err(_) => Err(malformed("a message has a negative length")),
        }
    }

    /// Checks a record batch's counts, extents and decompressed sizes; returns the bytes that it needs besides its
    /// message.
    pub fn check_batch(&self, message: &Message, batch: &ipc::RecordBatch<'_>) -> Result<usize> {
        let total = check_extents(message, batch)?;
        if total > self.batch {
            return Err(self.too_large(total));
        }
        Ok(match batch.compression() {
            Some(_) => total as usize,
            None => 0,
        })
    }

    fn too_large(&self, length: u64) -> Error {
        Error::invalid(format!(
            "a record batch of {length} bytes is too large; send batches of at most {} bytes",
            self.batch
        ))
    }
}

/// Checks a record batch's counts and extents; returns its decompressed bytes.
fn check_extents(message: &Message, batch: &ipc::RecordBatch<'_>) -> Result<u64> {
    if !(0..=MAX_ROWS).contains(&batch.length()) {
        return Err(Error::invalid(format!(
            "a record batch says it has {} rows; send batches of at most {MAX_ROWS}",
            batch.length()
        )));
    }
    let compressed = batch.compression().is_some();
    let mut total = 0_u64;
    for extent in batch.buffers().into_iter().flatten() {
        let bytes = usize::try_from(extent.offset())
            .ok()
            .zip(usize::try_from(extent.length()).ok())
            .and_then(|(offset, length)| Some(offset..offset.checked_add(length)?))
            .and_then(|range| message.body.get(range))
            .ok_or_else(|| malformed("a buffer lies outside its message"))?;
        total = total.saturating_add(if compressed {
            decompressed_length(bytes)?
        } else {
            bytes.len() as u64
        });
    }
    // Rows of nulls, or without columns, have no bytes. Neither have the values of a list of nulls.
    let paid_for = MAX_FREE_ROWS.saturating_add(total.saturating_mul(64));
    let nodes = batch.nodes().into_iter().flatten();
    for length in std::iter::once(batch.length()).chain(nodes.map(ipc::FieldNode::length)) {
        if u64::try_from(length).is_ok_and(|length| length <= paid_for) {
            continue;
        }
        return Err(Error::invalid(format!(
            "a record batch of {total} bytes says it has {length} rows or values; send batches of at most \
             {MAX_FREE_ROWS} rows or values without content"
        )));
    }
    Ok(total)
}

/// A compressed buffer begins with its decompressed length; -1 means that it is not compressed.
fn decompressed_length(bytes: &[u8]) -> Result<u64> {
    if bytes.is_empty() {
        return Ok(0);
    }
    let Some(prefix) = bytes.first_chunk::<8>() else {
        return Err(malformed("a compressed buffer has no length"));
    };
    match i64::from_le_bytes(*prefix) {
        -1 => Ok(bytes.len() as u64),
        length => u64::try_from(length)
            .map_err(|_| malformed("a compressed buffer has a negative length")),
    }
}
