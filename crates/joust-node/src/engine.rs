//! The engine and the roots it looks into.

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

/// What an engine may use; absent values suit a server that has the machine to itself.
#[napi(object)]
pub struct EngineOptions {
    /// What everything together may hold in memory, bytes.
    pub memory_bytes: Option<f64>,
    /// The part of it for opened index data, bytes.
    pub index_cache_bytes: Option<f64>,
    /// The part of it for manifests, schemas and file metadata, bytes.
    pub metadata_cache_bytes: Option<f64>,
    /// Memory for rows and vectors that queries keep asking for, bytes; 0 keeps none.
    pub row_cache_bytes: Option<f64>,
    /// How long a handle on a remote store may answer without asking the store for a newer version,
    /// ms; 0 asks every time.
    pub staleness_ms: Option<f64>,
    /// False: an answered write survives the end of the process, not a power cut. Default true.
    pub synced: Option<bool>,
    /// False: no table below a local root is reached through a symbolic link. Default true.
    pub follow_links: Option<bool>,
    /// How long the engine works for a query, a count, or the plan of one, ms; 0: as long as it takes.
    pub query_timeout_ms: Option<f64>,
    /// The same for the refresh of a view.
    pub view_timeout_ms: Option<f64>,
    /// Bytes of temporary files of a view's refresh, or of a SQL statement.
    pub view_disk_bytes: Option<f64>,
}

/// What took too long, since the start of the process.
#[napi(object)]
pub struct Ended {
    /// Queries and refreshes that worked longer than they may.
    pub requests: f64,
    /// Statements that took too long to plan.
    pub plans: f64,
}

/// A table that a root holds.
#[napi(object)]
pub struct FoundTable {
    /// Namespace components, then the table's name.
    pub id: Vec<String>,
    /// Path or URI.
    pub location: String,
}

/// An entry of a root that has a table's name and can be none.
#[napi(object)]
pub struct SkippedEntry {
    /// Path or URI.
    pub location: String,
    /// Why, for the operator.
    pub reason: String,
}

/// What LanceDB tools have put into a root.
#[napi(object)]
pub struct RootContents {
    pub tables: Vec<FoundTable>,
    /// Namespaces that the root's `__manifest` lists.
    pub namespaces: Vec<Vec<String>>,
    /// Entries that look like tables and are none: broken links, files.
    pub skipped: Vec<SkippedEntry>,
}

/// Engines that threads share. They live as long as the process.
static SHARED: Mutex<Vec<joust_core::Engine>> = Mutex::new(Vec::new());

/// Hands out tables; one set of caches and threads for all of them.
#[napi]
pub struct Engine {
    pub(crate) inner: joust_core::Engine,
}

/// A branch of a table.
#[napi(object)]
pub struct TableBranch {
    /// The `life` that the table was opened with.
    pub life: String,
    /// None: the main branch.
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
        }
        Self {
            inner: joust_core::Engine::new(chosen),
        }
    }

    /// The table at a location, whether or not there is one yet. Touches no storage; equal addresses
    /// share one open dataset. `life` tells the tables apart that come to be at a location in turn:
    /// what is known of another one there is forgotten first.
    #[napi]
    pub fn table(
        &self,
        location: String,
        storage_options: Option<HashMap<String, String>>,
        life: Option<String>,
    ) -> Table {
        let options = storage_options.unwrap_or_default();
        Table::new(match life {
            Some(life) => self.inner.table_of(&life, &location, options),
            None => self.inner.table(&location, options),
        })
    }

    /// The branches with a change of columns that loses to commits of other processes.
    #[napi]
    pub fn outrun(&self) -> Vec<TableBranch> {
        let branches = self.inner.outrun_branches().into_iter();
        branches
            .map(|(life, branch)| TableBranch { life, branch })
            .collect()
    }

    /// What took too long, since the start of the process.
    #[napi]
    pub fn ended(&self) -> Ended {
        let ended = self.inner.ended();
        Ended {
            requests: ended.requests as f64,
            plans: ended.plans as f64,
        }
    }

    /// A number by which other threads of this process attach to this engine.
    #[napi]
    pub fn share(&self) -> u32 {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.push(self.inner.clone());
        shared.len() as u32 - 1
    }

    /// The engine that another thread has shared: the same tables, caches and threads.
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

    /// What requests and jobs hold in memory at this moment.
    #[napi]
    pub fn memory(&self) -> MemoryUsage {
        self.inner.memory().usage().into()
    }

    /// Creates the root if need be and proves that it can be written.
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

    /// Tables and namespaces that LanceDB tools have put into a root: `<root>/*.lance` and
    /// `<root>/__manifest`.
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

    /// What is at a location, of which nothing is opened: nothing at all, a version of a Lance table (perhaps
    /// through a symbolic link), something else, what can't be looked into, or what lies behind a link above it.
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

    /// Other servers take this process for alive for `left_ms` from now on, at least. Once this was said, files
    /// are removed only as long as that lasts (else code 17).
    #[napi]
    pub fn renew_lease(&self, left_ms: f64) {
        self.inner.renew_lease(millis(left_ms));
    }

    /// Forgets what is known of the files there: they are another table's now, or nobody's.
    #[napi]
    pub fn close_table(&self, location: String) {
        self.inner.close_table(&location);
    }

    /// Removes what Lance and joust made for a table, and its directory if it is empty then; succeeds when
    /// there is nothing. The names of what stays there.
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
