//! The engine of joust: Lance tables without names, people or HTTP.
//!
//! Start at [`Engine`], which hands out [`Table`]s; a table is an address with everything that can
//! be done at it. Arrow data comes in through an [`Upload`] and goes out as an [`Answer`].

pub mod backfill;
mod cache;
mod deadline;
mod durability;
pub mod engine;
pub mod error;
pub mod index;
pub mod ipc;
mod json;
mod lease;
pub mod maintain;
mod memo;
pub mod memory;
mod names;
mod nearest;
mod one_thread;
mod planning;
pub mod prewarm;
pub mod query;
pub mod root;
mod rows;
mod schema;
pub mod sql;
mod state;
mod steps;
pub mod table;
mod text;
pub mod view;
mod work;

pub use durability::Durability;
pub use engine::{Engine, EngineOptions};
pub use error::{Code, Error, Result};
pub use ipc::Upload;
pub use one_thread::MOST_OWN_THREADS;
pub use query::Answer;
pub use table::Table;
pub use work::Work;

/// The version of lance that the engine is compiled with.
#[must_use]
pub fn lance_version() -> String {
    lance_table::format::WriterVersion::default().version
}
