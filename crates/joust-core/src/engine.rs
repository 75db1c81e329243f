//! The engine: one set of caches and threads for every table of a process.

mod sql;

use std::time::Duration;

pub use sql::SqlSource;

use crate::Result;
use crate::deadline;
use crate::index::Caches;
use crate::ipc::{Upload, UploadReader};
use crate::memory::{Budget, Memory};
use crate::planning;
use crate::storage::root::{self, Contents, Links, RootContents};
use crate::storage::{Durability, Sessions, StorageOptions};
use crate::table::{Limits, Table, Tables};

/// What an engine may use. The defaults suit a server that has the machine to itself.
#[derive(Debug, Clone, Copy)]
pub struct EngineOptions {
    /// What everything together may hold in memory, bytes: see [`Budget`].
    pub memory_bytes: usize,
    /// The part of it for opened index data, bytes; by default a share.
    pub index_cache_bytes: Option<usize>,
    /// The part of it for manifests, schemas and file metadata, bytes; by default a share.
    pub metadata_cache_bytes: Option<usize>,
    /// The part of it for rows and vectors that queries keep asking for, bytes; by default a share. With
    /// 0 none are kept, and Lance answers every query but those for texts.
    pub row_cache_bytes: Option<usize>,
    /// How long a handle on a remote store may answer without asking the store for a newer version;
    /// zero asks every time. Local directories are always asked, which costs one `stat`.
    pub staleness: Duration,
    /// What an answered write means on a local disk.
    pub durability: Durability,
    /// Tables below a local root may be reached through symbolic links.
    pub follow_links: bool,
    /// Tables that stay open; the least recently used are closed beyond that.
    pub open_tables: usize,
    /// How long the engine works for a query, a count, or the plan of one; `None`: as long as it takes.
    pub query_timeout: Option<Duration>,
    /// The same for the refresh of a view, without what it waits for memory.
    pub view_timeout: Option<Duration>,
    /// Bytes of temporary files of a view's refresh, or of a SQL statement.
    pub view_disk_bytes: u64,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            memory_bytes: 8 << 30,
            index_cache_bytes: None,
            metadata_cache_bytes: None,
            row_cache_bytes: None,
            staleness: Duration::ZERO,
            durability: Durability::default(),
            follow_links: true,
            open_tables: 10_000,
            query_timeout: Some(Duration::from_secs(5 * 60)),
            view_timeout: Some(Duration::from_secs(60 * 60)),
            view_disk_bytes: 10 << 30,
        }
    }
}

/// What took too long, since the start of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Queries and refreshes that worked longer than they may.
    pub requests: u64,
    /// Statements that took too long to plan.
    pub plans: u64,
}

/// Opens tables. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct Engine {
    tables: Tables,
}

impl Engine {
    pub fn new(options: EngineOptions) -> Self {
        let budget = Budget::new(
            options.memory_bytes,
            options.index_cache_bytes,
            options.metadata_cache_bytes,
            options.row_cache_bytes,
        );
        let sessions = Sessions::new(&budget, options.durability);
        let caches = Caches::new(&budget);
        let limits = Limits {
            staleness: options.staleness,
            open_tables: options.open_tables,
            query_timeout: options.query_timeout,
            view_timeout: options.view_timeout,
            view_disk_bytes: options.view_disk_bytes,
        };
        let links = Links::new(options.follow_links);
        Self {
            tables: Tables::new(limits, sessions, Memory::new(budget), links, caches),
        }
    }

    /// The table at a location (a path or URI), whether or not it exists. Touches no storage.
    pub fn table(&self, location: &str, storage_options: StorageOptions) -> Table {
        self.tables.table(location, storage_options)
    }

    /// As [`Self::table`], for one of several tables that exist at a location one after the other.
    /// `incarnation` identifies it: what is cached of another one there is dropped first.
    pub fn table_of(
        &self,
        incarnation: &str,
        location: &str,
        storage_options: StorageOptions,
    ) -> Table {
        self.tables.table_of(incarnation, location, storage_options)
    }

    /// Requests and jobs reserve their memory here.
    pub fn memory(&self) -> &Memory {
        self.tables.memory()
    }

    /// What the engine ended since the start of the process.
    pub fn ended(&self) -> Ended {
        Ended {
            requests: deadline::ended(),
            plans: planning::overruns(),
        }
    }

    /// The branches with a change that loses to other processes: the incarnation of the table, as
    /// [`table_of`](Self::table_of) was given it, and the branch.
    pub fn outrun_branches(&self) -> Vec<(String, Option<String>)> {
        self.tables.outrun_branches()
    }

    /// The two ends of an upload: see [`ipc::upload`](crate::ipc::upload).
    pub fn upload(&self) -> (Upload, UploadReader) {
        self.tables.upload()
    }

    /// An upload whose body is complete.
    pub fn whole_upload(&self, body: &[u8]) -> UploadReader {
        self.tables.whole_upload(body)
    }

    /// Creates a root directory if need be and proves that it can be written.
    pub async fn open_root(&self, root: &str, storage_options: StorageOptions) -> Result<()> {
        self.tables.links().below(root);
        root::open(self.tables.sessions(), root, storage_options).await
    }

    /// The tables and namespaces that LanceDB tools have put into a root.
    pub async fn scan_root(
        &self,
        root: &str,
        storage_options: StorageOptions,
    ) -> Result<RootContents> {
        let (sessions, links) = (self.tables.sessions(), self.tables.links());
        root::scan(sessions, links, root, storage_options).await
    }

    /// What is at a location. Opens nothing.
    pub async fn contents(
        &self,
        location: &str,
        storage_options: StorageOptions,
    ) -> Result<Contents> {
        let (sessions, links) = (self.tables.sessions(), self.tables.links());
        root::contents(sessions, links, location, storage_options).await
    }

    /// Other servers consider this process alive for at least `left` from now on. Once this was called, files
    /// are removed only while the lease lasts.
    pub fn renew_lease(&self, left: Duration) {
        self.tables.lease().renew(left);
    }

    /// Removes what Lance and joust made for a table, and the table's directory if it is empty then; succeeds
    /// when there is nothing. Returns the names of the entries that stay. The caller makes sure that nothing
    /// is being written there: a later commit would bring back a table without its data.
    pub async fn remove_table(
        &self,
        location: &str,
        storage_options: StorageOptions,
    ) -> Result<Vec<String>> {
        self.close_table(location);
        let (sessions, links) = (self.tables.sessions(), self.tables.links());
        let removal = root::remove(sessions, links, location, storage_options);
        let left = self.tables.lease().during(removal).await?;
        self.close_table(location);
        Ok(left)
    }

    /// Closes a table and all its branches, and drops what is cached of the files there.
    pub fn close_table(&self, location: &str) {
        self.tables.close_table(location);
    }
}
