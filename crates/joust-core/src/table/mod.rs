//! A table: an address and what can be done there.
//!
//! Each file adds one capability to [`Table`]; [`handle`] keeps the open dataset current.

mod append;
mod blobs;
mod branches;
mod clone;
mod columns;
mod computed;
mod count;
mod data_type;
mod delete;
mod describe;
mod difference;
mod directory;
mod functions;
mod gather;
pub mod handle;
mod holds;
mod live_rows;
mod memory;
mod merge;
mod metadata;
mod once;
mod parts;
mod promote;
mod publish;
mod references;
mod restore;
mod stats;
mod tags;
mod update;
mod versions;
mod write;

use std::sync::Arc;
use std::time::SystemTime;

use lance::Dataset;

pub use blobs::{Blob, Row};
pub use branches::Branch;
pub use clone::CloneSource;
pub use columns::{Alteration, NewColumn};
pub(crate) use computed::{COMPUTED, EXPRESSION};
pub use delete::Deleted;
pub use describe::Description;
pub use difference::{ColumnFacts, Difference, RowDifference};
pub(crate) use functions::{VIRTUAL, VIRTUAL_NAME};
pub use handle::Handle;
pub(crate) use holds::Holds;
pub(crate) use live_rows::live_rows;
pub(crate) use memory::rows_in;
pub use merge::{Merge, Merged};
pub use metadata::{FieldUpdate, FieldsUpdated};
pub use once::Attempt;
pub use parts::{Part, PartsCommit};
pub use stats::{Lengths, Stats};
pub use tags::Tag;
pub use update::{Update, Updated};
pub use versions::Version;
pub(crate) use write::Watch;
pub use write::Written;

use crate::view::check_not_view;
use crate::{Engine, Result};

/// A table's address. Cheap to clone; clones share the open dataset.
#[derive(Clone)]
pub struct Table {
    handle: Arc<Handle>,
    engine: Engine,
    /// The request that changes are made for, where it asked to be made once.
    attempt: Option<Arc<Attempt>>,
}

/// Which state of a table to read.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadOptions {
    /// A version; the newest when absent.
    pub version: Option<u64>,
    /// Do not answer from anything learnt before this time.
    pub not_before: Option<SystemTime>,
    /// Do not answer from an older version than this, if there is one as new.
    pub min_version: Option<u64>,
}

impl ReadOptions {
    /// That version, and no other.
    pub fn at(version: u64) -> Self {
        Self {
            version: Some(version),
            ..Self::default()
        }
    }
}

impl Table {
    pub(crate) fn new(handle: Arc<Handle>, engine: Engine) -> Self {
        Self {
            handle,
            engine,
            attempt: None,
        }
    }

    /// The same table on a branch; `main` or nothing is the main branch.
    pub fn on_branch(&self, branch: Option<&str>) -> Self {
        let branch = self.engine.branch(
            self.handle.location(),
            self.handle.storage_options().clone(),
            branch,
        );
        Self {
            attempt: self.attempt.clone(),
            ..branch
        }
    }

    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(crate) async fn dataset(&self, options: ReadOptions) -> Result<Arc<Dataset>> {
        self.handle.at(options).await
    }

    /// The newest version, whatever a remote store's staleness allows to readers: writes start here.
    pub(crate) async fn newest(&self) -> Result<Arc<Dataset>> {
        let now = SystemTime::now();
        Ok(self.handle.current(Some(now), None).await?.dataset)
    }

    /// The newest version, for a change of rows, columns or metadata. A materialized view takes none:
    /// code 19.
    pub(crate) async fn changeable(&self) -> Result<Arc<Dataset>> {
        let newest = self.newest().await?;
        check_not_view(&newest)?;
        Ok(newest)
    }

    /// A copy of the newest version for a change that commits to it.
    pub(crate) async fn writable(&self) -> Result<Dataset> {
        Ok(self.changeable().await?.as_ref().clone())
    }

    /// Makes a commit of this process visible; its version.
    pub(crate) fn committed(&self, dataset: Dataset) -> u64 {
        let version = dataset.version_id();
        self.handle.publish(dataset);
        version
    }

    /// The stamp of the newest version, when it is known without waiting for storage.
    pub fn peek(&self) -> Option<u64> {
        self.handle.peek().map(|current| current.stamp)
    }
}
