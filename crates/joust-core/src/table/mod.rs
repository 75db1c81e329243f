//! A table: an address and its operations.
//!
//! Each file adds one capability to [`Table`]; [`handle`] keeps the open dataset current.

mod append;
mod blobs;
mod branch_files;
mod branches;
mod clone;
mod columns;
mod commit;
mod committed_multipart;
mod computed;
mod count;
mod current;
pub(crate) mod data_type;
mod delete;
mod deletion_mark;
mod describe;
mod directory;
mod fragment_columns;
mod functions;
mod gather;
pub mod handle;
mod idempotency;
mod live_rows;
mod memory;
mod merge;
mod metadata;
mod multipart;
mod promote;
mod publish;
mod references;
mod restore;
mod restricted_merge;
mod schema_change;
mod shared_files;
mod stage;
mod tables;
mod tags;
mod update;
mod version_pins;
mod versions;
mod write;
mod write_admission;

use std::future::Future;
use std::sync::Arc;
use std::time::SystemTime;

use lance::Dataset;

pub use blobs::{Blob, Row};
pub use branches::Branch;
pub use clone::CloneSource;
pub use columns::{Alteration, NewColumn};
pub(crate) use computed::{
    AUTO_REFRESH_ENABLED, AUTO_REFRESH_SECONDS, COMPUTED, EXPRESSION, KIND, SQL,
};
use current::Current;
pub use delete::Deleted;
pub use describe::Description;
pub use handle::Handle;
pub use idempotency::Attempt;
pub(crate) use live_rows::live_rows;
pub(crate) use memory::{in_memory, rows_in};
pub use merge::{Merge, Merged};
pub use metadata::{FieldUpdate, FieldsUpdated};
pub use multipart::{Part, PartsCommit};
pub use publish::NewVersion;
pub(crate) use stage::Watch;
pub(crate) use tables::Limits;
pub use tables::Tables;
pub use tags::Tag;
pub use update::{Update, Updated};
pub(crate) use version_pins::{Removal, RemovalGuard};
pub use versions::Version;
pub use write::Written;

use crate::Result;
use crate::commit::OnBranch;
use crate::names::unknown_branch;
use crate::schema::{RowFilter, check_not_view};
use crate::storage::Durability;
use crate::trace;

/// A table's address. Cheap to clone; clones share the open dataset.
#[derive(Clone)]
pub struct Table {
    handle: Arc<Handle>,
    tables: Tables,
    /// The idempotent request for which changes are made.
    attempt: Option<Arc<Attempt>>,
    /// The rows that the caller may use; all when absent. Queries, SQL, counts, deletes, updates, appends,
    /// merges and parts apply it.
    rows: Option<Arc<RowFilter>>,
    /// The branch on which work began, for work that reads newer versions before its end.
    began_on: Option<Arc<OnBranch>>,
}

/// The state of a table to read.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadOptions {
    /// A version; the newest when absent.
    pub version: Option<u64>,
    /// Only use a state that was checked after this time.
    pub not_before: Option<SystemTime>,
    /// Do not answer from an older version, if this one exists.
    pub min_version: Option<u64>,
}

impl ReadOptions {
    /// Exactly this version.
    pub fn at(version: u64) -> Self {
        Self {
            version: Some(version),
            ..Self::default()
        }
    }
}

impl Table {
    pub(crate) fn new(handle: Arc<Handle>, tables: Tables) -> Self {
        Self {
            handle,
            tables,
            attempt: None,
            rows: None,
            began_on: None,
        }
    }

    /// The same table, for a caller that may use only the rows that a filter admits.
    pub fn with_rows(&self, rows: RowFilter) -> Self {
        Self {
            rows: Some(Arc::new(rows)),
            ..self.clone()
        }
    }

    /// Checks that a SQL condition can be a row filter of the newest version.
    pub async fn check_row_filter(&self, condition: &str) -> Result<()> {
        let rows = RowFilter::any(&[condition.to_string()])?;
        rows.check(&self.newest().await?).await
    }

    pub(crate) fn rows(&self) -> Option<&RowFilter> {
        self.rows.as_deref()
    }

    /// The same table on a branch; `main` or `None` is the main branch.
    pub fn on_branch(&self, branch: Option<&str>) -> Self {
        let branch = self.tables.branch(
            self.handle.location(),
            self.handle.storage_options().clone(),
            branch,
        );
        Self {
            attempt: self.attempt.clone(),
            rows: self.rows.clone(),
            ..branch
        }
    }

    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// The open tables of this table's engine.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    pub(crate) async fn dataset(&self, options: ReadOptions) -> Result<Arc<Dataset>> {
        trace::reads(self.handle.location());
        self.handle.at(options).await
    }

    /// The newest version, regardless of the staleness that readers of a remote store accept: writes start here.
    pub(crate) async fn newest(&self) -> Result<Arc<Dataset>> {
        Ok(self.current().await?.dataset)
    }

    async fn current(&self) -> Result<Current> {
        trace::reads(self.handle.location());
        let now = SystemTime::now();
        let current = self.handle.current(Some(now), None).await?;
        match &self.began_on {
            Some(branch) if !current.is_same_branch(Some(branch)) => {
                Err(unknown_branch(self.handle.branch().unwrap_or_default()))
            }
            _ => Ok(current),
        }
    }

    /// The same table, for work that writes files on a branch: it fails (code 22) once the branch is deleted, even if
    /// another branch has the name.
    pub(crate) async fn begun(&self) -> Result<Self> {
        Ok(Self {
            began_on: self.current().await?.branch,
            ..self.clone()
        })
    }

    /// The newest version, for a change of rows, columns or metadata. A materialized view rejects these with code 19.
    pub(crate) async fn changeable(&self) -> Result<Arc<Dataset>> {
        Ok(self.changeable_current().await?.dataset)
    }

    /// As [`changeable`](Self::changeable), with its branch.
    pub(crate) async fn changeable_current(&self) -> Result<Current> {
        let current = self.current().await?;
        check_not_view(&current.dataset)?;
        Ok(current)
    }

    /// Runs work that a deletion of the branch may interrupt. If it fails because the branch and its files were
    /// deleted, the error says so (code 22).
    pub(crate) async fn while_there<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let Some(name) = self.handle.branch() else {
            return work.await;
        };
        // Read before the work begins: another branch may have the name at its end.
        let incarnation = self.handle.branches().incarnation(name);
        let error = match work.await {
            Err(error) => error,
            done => return done,
        };
        let still_exists = async {
            let reference = self.handle.reference(name).await?;
            incarnation.still_exists(&reference).await
        };
        Err(match still_exists.await {
            Ok(false) => unknown_branch(name),
            _ => error,
        })
    }

    /// Waits until the removal of a file of the table is durable, if the configuration requires it.
    async fn removed(&self, path: &object_store::path::Path) -> Result<()> {
        let location = self.handle.location();
        self.durability().removed(location, path).await
    }

    /// The durability of an acknowledged change.
    fn durability(&self) -> Durability {
        self.handle.durability()
    }

    /// A copy of the newest version for a change that commits to it, and the version itself, which the caller keeps
    /// until then to pin it.
    pub(crate) async fn writable(&self) -> Result<(Dataset, Arc<Dataset>)> {
        Ok(with_copy(self.changeable().await?))
    }

    /// As [`writable`](Self::writable), for changes that do not change rows.
    pub(crate) async fn copy_of_newest(&self) -> Result<(Dataset, Arc<Dataset>)> {
        Ok(with_copy(self.newest().await?))
    }

    /// Makes a version that this process committed the newest one for readers; returns its number.
    pub(crate) fn committed(&self, dataset: Dataset) -> u64 {
        let version = dataset.version_id();
        self.handle.advance(dataset);
        version
    }

    /// The stamp of the newest version, if it is known without a storage access.
    pub fn peek(&self) -> Option<u64> {
        self.handle.peek().map(|current| current.stamp)
    }
}

fn with_copy(version: Arc<Dataset>) -> (Dataset, Arc<Dataset>) {
    (version.as_ref().clone(), version)
}
