//! Encodes record batches as Arrow IPC bytes, in chunks.

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use arrow::ipc::writer::{FileWriter, StreamWriter};

use crate::error::Result;

/// The two framings of Arrow IPC. Both can be written front to back without seeking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    File,
    Stream,
}

/// Encodes record batches into the bytes of a result.
pub trait Encode: Send {
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Writes the trailer after the last batch.
    fn finish(&mut self) -> Result<()>;

    /// Bytes that are not taken yet.
    fn pending(&mut self) -> usize;

    /// The bytes since the last call.
    fn take(&mut self) -> Vec<u8>;
}

/// Encodes batches as Arrow IPC; [`Encode::take`] returns the encoded bytes.
pub struct Encoder {
    writer: Writer,
}

enum Writer {
    File(FileWriter<Sink>),
    Stream(StreamWriter<Sink>),
}

impl Encoder {
    pub fn new(format: Format, schema: &Schema) -> Result<Self> {
        let sink = Sink(Vec::with_capacity(4096));
        let writer = match format {
            Format::File => Writer::File(FileWriter::try_new(sink, schema)?),
            Format::Stream => Writer::Stream(StreamWriter::try_new(sink, schema)?),
        };
        Ok(Self { writer })
    }

    fn sink(&mut self) -> &mut Sink {
        match &mut self.writer {
            Writer::File(writer) => writer.get_mut(),
            Writer::Stream(writer) => writer.get_mut(),
        }
    }
}

impl Encode for Encoder {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        match &mut self.writer {
            Writer::File(writer) => writer.write(batch)?,
            Writer::Stream(writer) => writer.write(batch)?,
        }
        Ok(())
    }

    /// Writes the end: the footer of a file, the end marker of a stream.
    fn finish(&mut self) -> Result<()> {
        match &mut self.writer {
            Writer::File(writer) => writer.finish()?,
            Writer::Stream(writer) => writer.finish()?,
        }
        Ok(())
    }

    fn pending(&mut self) -> usize {
        self.sink().0.len()
    }

    fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.sink().0)
    }
}

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
    use std::io::Cursor;
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int32Array};
    use arrow::ipc::reader::{FileReader, StreamReader};

    use super::*;

    fn batch(rows: i32) -> RecordBatch {
        let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..rows));
        RecordBatch::try_from_iter([("n", numbers)]).unwrap()
    }

    /// The encoder's output, taken after every step.
    fn in_parts(format: Format, batches: &[RecordBatch]) -> Vec<u8> {
        let mut encoder = Encoder::new(format, &batch(0).schema()).unwrap();
        let mut bytes = encoder.take();
        for batch in batches {
            encoder.write(batch).unwrap();
            bytes.extend(encoder.take());
        }
        encoder.finish().unwrap();
        bytes.extend(encoder.take());
        bytes
    }

    #[test]
    fn a_file_taken_in_parts_is_a_valid_file() {
        let batches = [batch(3), batch(100)];
        let bytes = in_parts(Format::File, &batches);
        let reader = FileReader::try_new(Cursor::new(bytes), None).unwrap();
        assert_eq!(reader.map(Result::unwrap).collect::<Vec<_>>(), batches);
    }

    #[test]
    fn no_batches_are_still_a_schema() {
        let file = in_parts(Format::File, &[]);
        assert_eq!(
            FileReader::try_new(Cursor::new(file), None)
                .unwrap()
                .schema(),
            batch(0).schema()
        );
        let stream = in_parts(Format::Stream, &[]);
        let reader = StreamReader::try_new(Cursor::new(stream), None).unwrap();
        assert_eq!(reader.schema(), batch(0).schema());
    }
}
