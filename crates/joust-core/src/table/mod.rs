//! A table: an address and what can be done there.
//!
//! Each file adds one capability to [`Table`]; [`handle`] keeps the open dataset current.

mod count;
mod delete;
mod describe;
mod directory;
pub mod handle;
mod stats;
mod write;

use std::sync::Arc;
use std::time::SystemTime;

use lance::Dataset;

pub use delete::Deleted;
pub use describe::Description;
pub use handle::Handle;
pub use stats::{Lengths, Stats};
pub use write::Written;

use crate::Result;

/// A table's address. Cheap to clone; clones share the open dataset.
#[derive(Clone)]
pub struct Table {
    handle: Arc<Handle>,
}

/// Which state of a table to read.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadOptions {
    /// A version; the newest when absent.
    pub version: Option<u64>,
    /// Do not answer from anything learnt before this time.
    pub not_before: Option<SystemTime>,
}

impl Table {
    pub(crate) fn new(handle: Arc<Handle>) -> Self {
        Self { handle }
    }

    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    pub(crate) async fn dataset(&self, options: ReadOptions) -> Result<Arc<Dataset>> {
        self.handle.at(options.version, options.not_before).await
    }

    /// The newest version, whatever a remote store's staleness allows to readers: writes start here.
    pub(crate) async fn newest(&self) -> Result<Arc<Dataset>> {
        Ok(self.handle.current(None).await?.dataset)
    }

    /// The stamp of the newest version, when it is known without waiting for storage.
    pub fn peek(&self) -> Option<u64> {
        self.handle.peek().map(|current| current.stamp)
    }
}
