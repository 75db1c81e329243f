//! The engine of joust: Lance tables. It does not know table names, users or HTTP.
//!
//! Start at [`Engine`], which opens [`Table`]s; a table is an address with its operations. Arrow data enters through an
//! [`Upload`] and is returned as an [`Answer`].

mod blocking_executor;
mod cache;
mod commit;
mod deadline;
pub mod engine;
pub mod error;
mod functions;
pub mod index;
pub mod ipc;
pub mod jobs;
mod json;
mod lease;
pub mod memory;
mod names;
mod plan_format;
mod planning;
pub mod query;
mod schema;
pub mod sql;
pub mod storage;
pub mod table;
mod text;
pub mod trace;
mod vector;
mod version_key;
mod weighted_cache;
pub mod work;

pub use blocking_executor::MAX_COMMIT_WORKERS;
pub use engine::{Engine, EngineOptions};
pub use error::{Code, Error, Result};
pub use functions::{FunctionSettings, PROGRAM as FUNCTION_PROGRAM};
pub use ipc::Upload;
pub use query::Answer;
pub use schema::{RowFilter, takes_long};
pub use storage::Durability;
pub use table::Table;
pub use work::WorkContext;

/// The version of lance that the engine is compiled with.
#[must_use]
pub fn lance_version() -> String {
    lance_table::format::WriterVersion::default().version
}
