//! The engine and the scan of roots.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use joust_core::storage::root;
use napi::Env;
use napi::bindgen_prelude::PromiseRaw;
use napi_derive::napi;

use crate::builders;
use crate::memory::MemoryUsage;
use crate::promise::promise;
use crate::table::{Table, millis};

/// Resource limits of an engine. The defaults suit a server with a dedicated machine.
#[napi(object)]
pub struct EngineOptions {
    /// Limit of all memory, bytes.
    pub memory_bytes: Option<f64>,
    /// Its share for opened index data, bytes.
    pub index_cache_bytes: Option<f64>,
    /// Its share for manifests, schemas and file metadata, bytes.
    pub metadata_cache_bytes: Option<f64>,
    /// Cache for rows and vectors of repeated queries, bytes; 0 disables it.
    pub row_cache_bytes: Option<f64>,
    /// How long a handle on a remote store may answer without a check for a newer version, ms; 0 checks every time.
    pub staleness_ms: Option<f64>,
    /// False: an acknowledged write survives the end of the process, but not a power failure. Default true.
    pub synced: Option<bool>,
    /// False: joust does not follow symbolic links below a local root. Default true.
    pub follow_links: Option<bool>,
    /// How long the engine works on a query, a count, or an explain request, ms; 0: no limit.
    pub query_timeout_ms: Option<f64>,
    /// The same for a view refresh.
    pub view_timeout_ms: Option<f64>,
    /// Bytes of temporary files of a view refresh, or of a SQL statement.
    pub view_disk_bytes: Option<f64>,
    /// How to run the Python functions of virtual columns. Absent: the engine runs none.
    pub functions: Option<FunctionOptions>,
    /// Workers outside of this process run these functions. Default false.
    pub remote_functions: Option<bool>,
}

/// How an engine runs Python functions.
#[napi(object)]
pub struct FunctionOptions {
    /// The Python interpreter, which has the package pyarrow.
    pub python: String,
    /// The most processes at the same time.
    pub workers: u32,
    /// Memory of each process, bytes.
    pub memory_bytes: f64,
    /// How long one call of a function may take, ms.
    pub call_timeout_ms: f64,
    /// How much time of all processors one call of a function may take, ms.
    pub cpu_time_ms: f64,
    /// Whether functions reach the network.
    pub network: bool,
    /// The environment of the processes, beside PATH, HOME, TMPDIR and LANG.
    pub environment: HashMap<String, String>,
}

impl FunctionOptions {
    fn into_core(self) -> joust_core::FunctionSettings {
        joust_core::FunctionSettings {
            python: self.python.into(),
            workers: self.workers as usize,
            memory_bytes: self.memory_bytes as u64,
            call_timeout: millis(self.call_timeout_ms),
            cpu_time: millis(self.cpu_time_ms),
            network: self.network,
            environment: self.environment.into_iter().collect(),
        }
    }
}

/// Timeouts since the start of the process.
#[napi(object)]
pub struct Ended {
    /// Queries and refreshes that exceeded their time limit.
    pub requests: f64,
    /// Statements that exceeded the time limit of planning.
    pub plans: f64,
}

/// A table in a root.
#[napi(object)]
pub struct FoundTable {
    /// Namespace components, then the table's name.
    pub id: Vec<String>,
    /// Path or URI.
    pub location: String,
}

/// An entry of a root with the name of a table that is not a table.
#[napi(object)]
pub struct SkippedEntry {
    /// Path or URI.
    pub location: String,
    /// The reason, for the operator.
    pub reason: String,
}

/// What LanceDB tools created in a root.
#[napi(object)]
pub struct RootContents {
    pub tables: Vec<FoundTable>,
    /// Namespaces that the root's `__manifest` lists.
    pub namespaces: Vec<Vec<String>>,
    /// Entries that look like tables and are not: broken links, files.
    pub skipped: Vec<SkippedEntry>,
}

/// Engines that threads share. They live as long as the process.
static SHARED: Mutex<Vec<joust_core::Engine>> = Mutex::new(Vec::new());

/// Opens tables; they share one set of caches and threads.
#[napi]
pub struct Engine {
    pub(crate) inner: joust_core::Engine,
}

/// A branch with a change of columns that loses to commits of other processes.
#[napi(object)]
pub struct StarvedBranch {
    /// The table incarnation with which the table was opened.
    pub incarnation: String,
    /// `None` is the main branch.
    pub branch: Option<String>,
}

#[napi]
impl Engine {
    #[napi(constructor)]
    pub fn new(options: Option<EngineOptions>) -> Self {
        builders::start();
        let mut chosen = joust_core::EngineOptions::default();
        if let Some(options) = options {
            let bytes = |value: Option<f64>| value.map(|bytes| bytes as usize);
            chosen.memory_bytes = bytes(options.memory_bytes).unwrap_or(chosen.memory_bytes);
            chosen.index_cache_bytes = bytes(options.index_cache_bytes);
            chosen.metadata_cache_bytes = bytes(options.metadata_cache_bytes);
            chosen.row_cache_bytes = bytes(options.row_cache_bytes);
            if options.synced == Some(false) {
                chosen.durability = joust_core::Durability::Os;
            }
            chosen.follow_links = options.follow_links.unwrap_or(chosen.follow_links);
            chosen.staleness = options.staleness_ms.map_or(chosen.staleness, millis);
            let limit = |given: Option<f64>, default| match given {
                None => default,
                Some(ms) => (ms > 0.0).then(|| millis(ms)),
            };
            chosen.query_timeout = limit(options.query_timeout_ms, chosen.query_timeout);
            chosen.view_timeout = limit(options.view_timeout_ms, chosen.view_timeout);
            chosen.view_disk_bytes = options
                .view_disk_bytes
                .map_or(chosen.view_disk_bytes, |bytes| bytes as u64);
            chosen.functions = options.functions.map(FunctionOptions::into_core);
            chosen.remote_functions = options.remote_functions.unwrap_or(false);
        }
        Self {
            inner: joust_core::Engine::new(chosen),
        }
    }

    /// The table at a location, whether or not it exists. Does not access storage; equal addresses share one open
    /// dataset. `incarnation` distinguishes tables that exist at a location in sequence: cached data of another one is
    /// dropped first.
    #[napi]
    pub fn table(
        &self,
        location: String,
        storage_options: Option<HashMap<String, String>>,
        incarnation: Option<String>,
    ) -> Table {
        let options = storage_options.unwrap_or_default();
        Table::new(match incarnation {
            Some(incarnation) => self.inner.table_of(&incarnation, &location, options),
            None => self.inner.table(&location, options),
        })
    }

    /// The branches with a change of columns that loses to commits of other processes.
    #[napi]
    pub fn starved_branches(&self) -> Vec<StarvedBranch> {
        let branches = self.inner.starved_branches().into_iter();
        branches
            .map(|(incarnation, branch)| StarvedBranch {
                incarnation,
                branch,
            })
            .collect()
    }

    /// Timeouts since the start of the process.
    #[napi]
    pub fn ended(&self) -> Ended {
        let ended = self.inner.ended();
        Ended {
            requests: ended.requests as f64,
            plans: ended.plans as f64,
        }
    }

    /// A number with which other threads of this process attach to this engine.
    #[napi]
    pub fn share(&self) -> u32 {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.push(self.inner.clone());
        shared.len() as u32 - 1
    }

    /// The engine that another thread shared: the same tables, caches and threads.
    #[napi(factory)]
    pub fn attach(number: u32) -> napi::Result<Self> {
        let shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        match shared.get(number as usize) {
            Some(inner) => Ok(Self {
                inner: inner.clone(),
            }),
            None => Err(napi::Error::from_reason(
                "no engine is shared by that number",
            )),
        }
    }

    /// The current memory use of requests and jobs.
    #[napi]
    pub fn memory(&self) -> MemoryUsage {
        self.inner.memory().usage().into()
    }

    /// Creates the root if necessary and checks that it is writable.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn open_root<'env>(
        &self,
        env: &'env Env,
        root: String,
        storage_options: Option<HashMap<String, String>>,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let engine = self.inner.clone();
        let work = async move {
            engine
                .open_root(&root, storage_options.unwrap_or_default())
                .await
        };
        promise(env, work, |()| ())
    }

    /// Tables and namespaces that LanceDB tools created in a root: `<root>/*.lance` and `<root>/__manifest`.
    #[napi(ts_return_type = "Promise<RootContents>")]
    pub fn scan_root<'env>(
        &self,
        env: &'env Env,
        root: String,
        storage_options: Option<HashMap<String, String>>,
    ) -> napi::Result<PromiseRaw<'env, RootContents>> {
        let engine = self.inner.clone();
        let work = async move {
            engine
                .scan_root(&root, storage_options.unwrap_or_default())
                .await
        };
        promise(env, work, |contents| RootContents {
            tables: contents.tables.into_iter().map(FoundTable::from).collect(),
            namespaces: contents.namespaces,
            skipped: contents
                .skipped
                .into_iter()
                .map(SkippedEntry::from)
                .collect(),
        })
    }

    /// Inspects a location without opening it: nothing, a version of a Lance table (perhaps through a symbolic link),
    /// something else, an unreadable entry, or an entry behind a link above it.
    #[napi(ts_return_type = "Promise<'nothing' | 'table' | 'other' | 'unreadable' | 'behindLink'>")]
    pub fn contents<'env>(
        &self,
        env: &'env Env,
        location: String,
        storage_options: Option<HashMap<String, String>>,
    ) -> napi::Result<PromiseRaw<'env, &'static str>> {
        let engine = self.inner.clone();
        let work = async move {
            engine
                .contents(&location, storage_options.unwrap_or_default())
                .await
        };
        promise(env, work, contents_name)
    }

    /// Other servers consider this process alive for at least `left_ms` from now on. After the first call, joust
    /// removes files only during that time (else code 17).
    #[napi]
    pub fn renew_lease(&self, left_ms: f64) {
        self.inner.renew_lease(millis(left_ms));
    }

    /// Closes the table at a location and all its branches: its files belong to another table now, or are orphaned. No
    /// later lookup uses the cached data of its files.
    #[napi]
    pub fn close_table(&self, location: String) {
        self.inner.close_table(&location);
    }

    /// Removes the files that Lance and joust created for a table, and its directory if it is then empty; succeeds if
    /// there is nothing. Returns the names of remaining entries.
    #[napi(ts_return_type = "Promise<Array<string>>")]
    pub fn remove_table<'env>(
        &self,
        env: &'env Env,
        location: String,
        storage_options: Option<HashMap<String, String>>,
    ) -> napi::Result<PromiseRaw<'env, Vec<String>>> {
        let engine = self.inner.clone();
        let work = async move {
            engine
                .remove_table(&location, storage_options.unwrap_or_default())
                .await
        };
        promise(env, work, |left| left)
    }
}

impl From<root::FoundTable> for FoundTable {
    fn from(found: root::FoundTable) -> Self {
        Self {
            id: found.id,
            location: found.location,
        }
    }
}

impl From<root::Skipped> for SkippedEntry {
    fn from(skipped: root::Skipped) -> Self {
        Self {
            location: skipped.location,
            reason: skipped.reason,
        }
    }
}

fn contents_name(contents: root::Contents) -> &'static str {
    match contents {
        root::Contents::Nothing => "nothing",
        root::Contents::Table => "table",
        root::Contents::Other => "other",
        root::Contents::Unreadable => "unreadable",
        root::Contents::BehindLink => "behindLink",
    }
}
