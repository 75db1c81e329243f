//! Cuts a byte stream into Arrow IPC messages.
//!
//! A message is `0xFFFFFFFF` (absent in files of old writers), the metadata's length, the metadata
//! and a body. Bodies are assembled in memory that is aligned for Arrow, so that the arrays made
//! from them need no further copy.

use arrow::buffer::{Buffer, MutableBuffer};
use arrow::ipc::{self, MessageHeader};
use bytes::Bytes;

use super::guard::{self, Limits};
use crate::error::{Error, Result};
use crate::memory::Reservation;

const CONTINUATION: u32 = 0xFFFF_FFFF;
/// Bytes for which room is made before they come.
const MOST_ROOM: usize = 256 << 20;

/// One message: its metadata (a flatbuffer, verified) and its body.
pub struct Message {
    metadata: Buffer,
    pub body: Buffer,
}

impl Message {
    /// The same message, whose body keeps memory taken for as long as any array made from it lives.
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

    /// The decoded metadata, checked anew each time.
    pub fn header(&self) -> Result<ipc::Message<'_>> {
        root(&self.metadata)
    }
}

/// A body and the memory that is taken for it.
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

/// Collects chunks and gives messages out.
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

    /// Takes bytes off the front of `chunk` until a message is complete or the chunk is used up.
    pub fn take(&mut self, chunk: &mut &[u8]) -> Result<Option<Message>> {
        loop {
            let wanted = match &self.state {
                State::Length { .. } => 4,
                State::Metadata { length } | State::Body { length, .. } => *length,
                State::End if chunk.is_empty() => return Ok(None),
                // Perhaps another stream. Its rows would be lost.
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
                // Room that is not written to is not taken: only a very large body has to grow.
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

    /// The bytes have ended: an error when they end inside a message.
    pub fn finish(&self) -> Result<()> {
        match self.state {
            State::End => Ok(()),
            State::Length { continued: false } if self.part.is_empty() => Ok(()),
            _ => Err(malformed("it ends inside a message")),
        }
    }
}

/// The message kinds a stream may hold, by the name a person would look for.
pub fn kind(header: MessageHeader) -> &'static str {
    header.variant_name().unwrap_or("unknown")
}

pub fn malformed(why: &str) -> Error {
    Error::invalid(format!(
        "the body is not a valid Arrow IPC stream: {why}; send the bytes of an Arrow stream writer, \
         not of a file writer"
    ))
}
