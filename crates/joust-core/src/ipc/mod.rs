//! Arrow IPC at the boundary of the engine: request and result bodies are byte chunks.

mod ahead;
mod contained;
mod decode;
mod encode;
mod framing;
mod guard;
mod known_schemas;
mod own_size;
#[cfg(test)]
mod sent;
mod upload;

pub use ahead::ahead;
pub use decode::{BatchStream, decode, schema_of};
pub use encode::{Encode, Encoder, Format};
#[cfg(test)]
pub(crate) use sent::sent;
pub use upload::{Upload, UploadReader, upload};
