//! The engine: one set of caches and threads for every table of a process.

mod sql;

use std::time::Duration;

pub use sql::SqlSource;

use crate::Result;
use crate::deadline;
use crate::functions::{FunctionSettings, Functions};
use crate::index::Caches;
use crate::ipc::{Upload, UploadReader};
use crate::memory::{Budget, Memory};
use crate::planning;
use crate::storage::root::{self, Contents, Links, RootContents};
use crate::storage::{Durability, Sessions, StorageOptions};
use crate::table::{Limits, Table, Tables};

/// Resource limits of an engine. The defaults suit a server with a dedicated machine.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// Limit of all memory, bytes: see [`Budget`].
    pub memory_bytes: usize,
    /// Its share for opened index data, bytes; by default derived.
    pub index_cache_bytes: Option<usize>,
    /// Its share for manifests, schemas and file metadata, bytes; by default derived.
    pub metadata_cache_bytes: Option<usize>,
    /// Its share for rows and vectors of repeated queries, bytes; by default derived. 0 disables this cache, and Lance
    /// answers every query but text queries.
    pub row_cache_bytes: Option<usize>,
    /// How long a handle on a remote store may answer without a check for a newer version; zero checks every time.
    /// Local directories are always checked, which costs one `stat`.
    pub staleness: Duration,
    /// The durability of an acknowledged write on a local disk.
    pub durability: Durability,
    /// Whether joust follows symbolic links to tables below a local root.
    pub follow_links: bool,
    /// The most open tables; beyond it the least recently used ones are closed.
    pub open_tables: usize,
    /// How long the engine works on a query, a count, or an explain request; `None`: no limit.
    pub query_timeout: Option<Duration>,
    /// The same for a view refresh, without the time that it waits for memory.
    pub view_timeout: Option<Duration>,
    /// Bytes of temporary files of a view refresh, or of a SQL statement.
    pub view_disk_bytes: u64,
    /// How to run the Python functions of virtual columns; `None`: the engine runs none.
    pub functions: Option<FunctionSettings>,
    /// Workers outside of this process run these functions.
    pub remote_functions: bool,
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
            functions: None,
            remote_functions: false,
        }
    }
}

/// Timeouts since the start of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Queries and refreshes that exceeded their time limit.
    pub requests: u64,
    /// Statements that exceeded the time limit of planning.
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
            functions: options.functions.map(Functions::new),
            remote_functions: options.remote_functions,
        };
        let links = Links::new(options.follow_links);
        Self {
            tables: Tables::new(limits, sessions, Memory::new(budget), links, caches),
        }
    }

    /// The table at a location (a path or URI), whether or not it exists. Does not access storage.
    pub fn table(&self, location: &str, storage_options: StorageOptions) -> Table {
        self.tables.table(location, storage_options)
    }

    /// As [`Self::table`], for one of several tables that exist at a location in sequence. `incarnation` identifies it:
    /// cached data of another one at the location is dropped first.
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

    /// Timeouts since the start of the process.
    pub fn ended(&self) -> Ended {
        Ended {
            requests: deadline::ended(),
            plans: planning::overruns(),
        }
    }

    /// The branches with a change that loses to other processes: the incarnation of the table, as passed to
    /// [`table_of`](Self::table_of), and the branch.
    pub fn starved_branches(&self) -> Vec<(String, Option<String>)> {
        self.tables.starved_branches()
    }

    /// The two ends of an upload: see [`ipc::upload`](crate::ipc::upload).
    pub fn upload(&self) -> (Upload, UploadReader) {
        self.tables.upload()
    }

    /// An upload whose body is complete.
    pub fn whole_upload(&self, body: &[u8]) -> UploadReader {
        self.tables.whole_upload(body)
    }

    /// Creates a root directory if necessary and checks that it is writable.
    pub async fn open_root(&self, root: &str, storage_options: StorageOptions) -> Result<()> {
        self.tables.links().below(root);
        root::open(self.tables.sessions(), root, storage_options).await
    }

    /// The tables and namespaces that LanceDB tools created in a root.
    pub async fn scan_root(
        &self,
        root: &str,
        storage_options: StorageOptions,
    ) -> Result<RootContents> {
        let (sessions, links) = (self.tables.sessions(), self.tables.links());
        root::scan(sessions, links, root, storage_options).await
    }

    /// Inspects a location without opening it.
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

    /// Removes the files that Lance and joust created for a table, and its directory if it is then empty; succeeds if
    /// there is nothing. Returns the names of the remaining entries. The caller must ensure that no write is running
    /// there: a later commit would restore a table without its data.
    pub async fn remove_table(
        &self,
        location: &str,
        storage_options: StorageOptions,
    ) -> Result<Vec<String>> {
        self.close_table(location);
        let (sessions, links) = (self.tables.sessions(), self.tables.links());
        let removal = root::remove(
            sessions,
            links,
            location,
            storage_options,
            self.tables.lease().clone(),
        );
        let left = self.tables.lease().during(removal).await?;
        self.close_table(location);
        Ok(left)
    }

    /// Closes a table and all its branches. No later lookup uses the cached data of its files, and the caches evict it by
    /// age.
    pub fn close_table(&self, location: &str) {
        self.tables.close_table(location);
    }
}
