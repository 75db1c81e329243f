//! The targets. The program and the corpus of a target have its name.

mod condition;
mod ipc;
mod query;
mod sql;
mod text;

pub use condition::condition;
pub use ipc::ipc;
pub use query::query;
pub use sql::sql;
pub use text::text;
