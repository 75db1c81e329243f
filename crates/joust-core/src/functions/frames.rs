//! The frames between the engine and a worker process: a header in JSON and a body, each after its length.

use std::io::{self, Read, Write};

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The largest header: a worker reports some failures in it.
const MOST_HEADER_BYTES: u32 = 64 << 20;
/// The largest body.
const MOST_BODY_BYTES: u64 = 1 << 31;

/// Memory for a frame before it arrives. The values of a usual call fit in.
const FIRST_BYTES: u64 = 4 << 20;

/// Writes a frame.
pub fn write(to: &mut impl Write, header: &impl Serialize, body: &[u8]) -> io::Result<()> {
    let header = serde_json::to_vec(header)?;
    let length = u32::try_from(header.len()).map_err(io::Error::other)?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(&(body.len() as u64).to_le_bytes())?;
    to.write_all(&header)?;
    to.write_all(body)?;
    to.flush()
}

/// Reads a frame.
pub fn read<H: DeserializeOwned>(from: &mut impl Read) -> io::Result<(H, Vec<u8>)> {
    let (mut header, mut body) = ([0; 4], [0; 8]);
    from.read_exact(&mut header)?;
    from.read_exact(&mut body)?;
    let (header, body) = (u32::from_le_bytes(header), u64::from_le_bytes(body));
    if header > MOST_HEADER_BYTES || body > MOST_BODY_BYTES {
        return Err(io::Error::other("a frame is too large"));
    }
    let header = serde_json::from_slice(&read_bytes(from, u64::from(header))?)?;
    Ok((header, read_bytes(from, body)?))
}

/// Takes more memory than [`FIRST_BYTES`] only for bytes that arrive.
fn read_bytes(from: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(length.min(FIRST_BYTES) as usize);
    from.take(length).read_to_end(&mut bytes)?;
    match bytes.len() as u64 == length {
        true => Ok(bytes),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// An Arrow IPC stream with the batches.
pub fn encode(schema: &Schema, batches: &[&RecordBatch]) -> Result<Vec<u8>, ArrowError> {
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new(&mut bytes, schema)?;
    for batch in batches {
        writer.write(batch)?;
    }
    writer.finish()?;
    drop(writer);
    Ok(bytes)
}

/// The only batch of an Arrow IPC stream.
pub fn decode(bytes: &[u8]) -> Result<RecordBatch, ArrowError> {
    let mut batches = StreamReader::try_new(bytes, None)?;
    batches
        .next()
        .unwrap_or_else(|| Err(ArrowError::IpcError("the stream has no batch".to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_read_as_it_was_written() {
        let mut bytes = Vec::new();
        write(&mut bytes, &serde_json::json!({"rows": 3}), b"body").unwrap();
        write(&mut bytes, &serde_json::json!({}), b"").unwrap();
        let mut from = bytes.as_slice();
        let (header, body): (serde_json::Value, _) = read(&mut from).unwrap();
        assert_eq!(
            (header["rows"].as_u64(), body.as_slice()),
            (Some(3), &b"body"[..])
        );
        let (_, body): (serde_json::Value, _) = read(&mut from).unwrap();
        assert!(body.is_empty() && from.is_empty());
    }

    #[test]
    fn a_frame_that_ends_early_is_an_error() {
        let mut bytes = Vec::new();
        write(&mut bytes, &serde_json::json!({"rows": 3}), b"body").unwrap();
        for length in 0..bytes.len() {
            assert!(read::<serde_json::Value>(&mut &bytes[..length]).is_err());
        }
        let too_large = [0xff; 12];
        let error = read::<serde_json::Value>(&mut too_large.as_slice()).unwrap_err();
        assert_eq!(error.to_string(), "a frame is too large");
    }
}
