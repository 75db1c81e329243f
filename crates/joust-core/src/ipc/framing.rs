//! Splits a byte stream into Arrow IPC messages.
//!
//! A message is `0xFFFFFFFF` (absent in files of old writers), the metadata's length, the metadata and a body. Bodies
//! are assembled in memory that is aligned for Arrow, so that their arrays need no further copy.

use arrow::buffer::{Buffer, MutableBuffer};
use arrow::ipc::{self, MessageHeader};
use bytes::Bytes;

use super::guard::{self, Limits};
use crate::error::{Error, Result};
use crate::memory::Reservation;

const CONTINUATION: u32 = 0xFFFF_FFFF;
/// The most bytes that are allocated in advance.
const MOST_ROOM: usize = 256 << 20;

/// One message: its metadata (a flatbuffer, verified) and its body.
pub struct Message {
    metadata: Buffer,
    pub body: Buffer,
}

impl Message {
    /// The same message, whose body holds a reservation as long as any of its arrays exists.
    pub fn holding(self, memory: Option<Reservation>) -> Self {
        let Some(memory) = memory.filter(|_| !self.body.is_empty()) else {
            return self;
        };
        let body = Held {
            body: self.body,
            _memory: memory,
        };
        Self {
            metadata: self.metadata,
            body: Buffer::from(Bytes::from_owner(body)),
        }
    }

    pub fn metadata(&self) -> &Buffer {
        &self.metadata
    }

    /// The decoded metadata, verified at each call.
    pub fn header(&self) -> Result<ipc::Message<'_>> {
        root(&self.metadata)
    }
}

/// A body and its memory reservation.
struct Held {
    body: Buffer,
    _memory: Reservation,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

fn root(metadata: &[u8]) -> Result<ipc::Message<'_>> {
    ipc::root_as_message(metadata)
        .map_err(|error| malformed(&format!("its message header can't be read ({error})")))
}

enum State {
    /// Reading the 4 bytes of the continuation marker or of the length.
    Length {
        continued: bool,
    },
    Metadata {
        length: usize,
    },
    Body {
        metadata: Buffer,
        length: usize,
    },
    End,
}

/// Collects chunks and returns messages.
pub struct Framer {
    state: State,
    part: MutableBuffer,
    limits: Limits,
}

impl Framer {
    pub fn new(limits: Limits) -> Self {
        Self {
            state: State::Length { continued: false },
            part: MutableBuffer::new(0),
            limits,
        }
    }

    /// Consumes bytes from the front of `chunk` until a message is complete or the chunk is empty.
    pub fn take(&mut self, chunk: &mut &[u8]) -> Result<Option<Message>> {
        loop {
            let wanted = match &self.state {
                State::Length { .. } => 4,
                State::Metadata { length } | State::Body { length, .. } => *length,
                State::End if chunk.is_empty() => return Ok(None),
                // This may be another stream, whose rows would be lost.
                State::End => {
                    return Err(malformed(
                        "bytes follow its end-of-stream marker; a body holds one stream",
                    ));
                }
            };
            let missing = wanted - self.part.len();
            let (now, rest) = chunk.split_at(missing.min(chunk.len()));
            self.part.extend_from_slice(now);
            *chunk = rest;
            if self.part.len() < wanted {
                return Ok(None);
            }
            let part = std::mem::replace(&mut self.part, MutableBuffer::new(0));
            if let Some(message) = self.advance(part)? {
                return Ok(Some(message));
            }
        }
    }

    fn advance(&mut self, part: MutableBuffer) -> Result<Option<Message>> {
        match std::mem::replace(&mut self.state, State::Length { continued: false }) {
            State::Length { continued } => {
                let mut word = [0; 4];
                word.copy_from_slice(&part);
                let word = u32::from_le_bytes(word);
                self.state = match word {
                    CONTINUATION if !continued => State::Length { continued: true },
                    0 => State::End,
                    length if length as usize > guard::MAX_METADATA => {
                        return Err(malformed("it does not begin like an Arrow IPC stream"));
                    }
                    length => State::Metadata {
                        length: length as usize,
                    },
                };
                Ok(None)
            }
            State::Metadata { .. } => {
                let metadata = Buffer::from(part);
                let message = root(&metadata)?;
                if message.header_type() == MessageHeader::NONE {
                    return Err(malformed("a message says nothing"));
                }
                let length = self.limits.body_length(&message)?;
                if length == 0 {
                    let body = Buffer::from(MutableBuffer::new(0));
                    return Ok(Some(Message { metadata, body }));
                }
                // The system only provides pages that are written: only a very large body has to grow.
                self.part = MutableBuffer::with_capacity(length.min(MOST_ROOM));
                self.state = State::Body { metadata, length };
                Ok(None)
            }
            State::Body { metadata, .. } => Ok(Some(Message {
                metadata,
                body: part.into(),
            })),
            State::End => Ok(None),
        }
    }

    /// Marks the end of the bytes: an error inside a message.
    pub fn finish(&self) -> Result<()> {
        match self.state {
            State::End => Ok(()),
            State::Length { continued: false } if self.part.is_empty() => Ok(()),
            _ => Err(malformed("it ends inside a message")),
        }
    }
}

/// The name of a message kind for error messages.
pub fn kind(header: MessageHeader) -> &'static str {
    header.variant_name().unwrap_or("unknown")
}

pub fn malformed(why: &str) -> Error {
    Error::invalid(format!(
        "the body is not a valid Arrow IPC stream: {why}; send the bytes of an Arrow stream writer, \
         not of a file writer"
    ))
}
