//! Arrow IPC at the edge of the engine: bodies come in as byte chunks and leave as byte chunks.

mod ahead;
mod decode;
mod encode;
mod framing;
mod guard;
mod known_schemas;
mod own_size;
mod upload;

pub use ahead::ahead;
pub use decode::{BatchStream, decode, schema_of};
pub use encode::{Encoder, Format};
pub use upload::{Upload, UploadReader, upload};
