//! The engine: one set of caches and threads for every table of a process.

mod sql;

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;

pub use sql::SqlSource;

use crate::Result;
use crate::cache::Caches;
use crate::deadline::{self, Deadline};
use crate::durability::{Branches, Durability};
use crate::ipc::{self, Upload, UploadReader};
use crate::lease::Lease;
use crate::memory::{Budget, Memory};
use crate::planning;
use crate::root::{self, Contents, Links, RootContents};
use crate::table::handle::Handle;
use crate::table::{Holds, Outrun, Place, Table};

/// Locations of which it is remembered whose files are there.
const LIVES: usize = 100_000;

/// What an engine may use. The defaults suit a server that has the machine to itself.
#[derive(Debug, Clone)]
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

/// Storage access configuration, passed on to the object store as it is.
pub type StorageOptions = HashMap<String, String>;

/// Hands out tables. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
}

struct Shared {
    options: EngineOptions,
    caches: Arc<Caches>,
    memory: Memory,
    handles: Mutex<HashMap<Address, Arc<Handle>>>,
    /// By location.
    branches: Mutex<HashMap<String, Weak<Branches>>>,
    /// Whose files are at a location, as far as callers have said.
    lives: Mutex<HashMap<String, String>>,
    /// Here and not in the handles, of which a table may have several in turn.
    holds: Holds,
    outrun: Outrun,
    links: Arc<Links>,
    lease: Lease,
}

#[derive(PartialEq, Eq, Hash)]
struct Address {
    location: String,
    branch: Option<String>,
    storage_options: Vec<(String, String)>,
}

impl Engine {
    pub fn new(options: EngineOptions) -> Self {
        let budget = Budget::new(
            options.memory_bytes,
            options.index_cache_bytes,
            options.metadata_cache_bytes,
            options.row_cache_bytes,
        );
        let caches = Caches::new(&budget, options.durability);
        let links = Arc::new(Links::new(options.follow_links));
        Self {
            shared: Arc::new(Shared {
                options,
                caches: Arc::new(caches),
                memory: Memory::new(budget),
                handles: Mutex::default(),
                branches: Mutex::default(),
                lives: Mutex::default(),
                holds: Holds::default(),
                outrun: Outrun::default(),
                links,
                lease: Lease::default(),
            }),
        }
    }

    /// The table at a location (a path or URI), whether or not there is one yet. Touches no storage.
    pub fn table(&self, location: &str, storage_options: StorageOptions) -> Table {
        self.branch(location, storage_options, None)
    }

    /// As [`Self::table`], for one of the tables that come to be at a location in turn: `life` is its
    /// own. What is known of another one there is forgotten first.
    pub fn table_of(&self, life: &str, location: &str, storage_options: StorageOptions) -> Table {
        let mut lives = self.shared.lives.lock();
        if lives.get(location).is_none_or(|known| known != life) {
            // Forgotten, a table is opened once more than need be.
            if lives.len() >= LIVES {
                lives.clear();
            }
            lives.insert(location.to_string(), life.to_string());
            self.shared.close(location);
        }
        drop(lives);
        self.table(location, storage_options)
    }

    /// A branch of the table at a location; `None` is the main branch.
    pub(crate) fn branch(
        &self,
        location: &str,
        storage_options: StorageOptions,
        branch: Option<&str>,
    ) -> Table {
        let branch = branch.filter(|branch| !matches!(*branch, "" | "main"));
        let mut key: Vec<_> = storage_options.clone().into_iter().collect();
        key.sort_unstable();
        let address = Address {
            location: location.to_string(),
            branch: branch.map(str::to_string),
            storage_options: key,
        };
        let mut handles = self.shared.handles.lock();
        let handle = handles.entry(address).or_insert_with(|| {
            Arc::new(Handle::new(
                Place {
                    location: location.to_string(),
                    branch: branch.map(str::to_string),
                },
                storage_options,
                self.shared.caches.clone(),
                self.shared.options.staleness,
                self.shared.branches(location),
                self.shared.holds.clone(),
                self.shared.links.clone(),
            ))
        });
        let handle = handle.clone();
        self.shared.close_idle(&mut handles, &handle);
        Table::new(handle, self.clone())
    }

    /// What requests and jobs take their memory from.
    pub fn memory(&self) -> &Memory {
        &self.shared.memory
    }

    /// For the work of a query.
    pub(crate) fn query_deadline(&self) -> Deadline {
        Deadline::new(self.shared.options.query_timeout, "query-timeout")
    }

    /// For the work of a view's refresh.
    pub(crate) fn view_deadline(&self) -> Deadline {
        Deadline::new(self.shared.options.view_timeout, "view-timeout")
    }

    /// Bytes of temporary files of a view's refresh, or of a SQL statement.
    pub(crate) fn view_disk(&self) -> u64 {
        self.shared.options.view_disk_bytes
    }

    /// What the engine ended since the start of the process.
    pub fn ended(&self) -> Ended {
        Ended {
            requests: deadline::ended(),
            plans: planning::overruns(),
        }
    }

    /// Who needs an old version, and who removes it.
    pub(crate) fn holds(&self) -> &Holds {
        &self.shared.holds
    }

    /// Changes that lose to other processes.
    pub(crate) fn outrun(&self) -> &Outrun {
        &self.shared.outrun
    }

    /// The branches with a change that loses to other processes: the `life` of the table, as
    /// [`table_of`](Self::table_of) was given it, and the branch.
    pub fn outrun_branches(&self) -> Vec<(String, Option<String>)> {
        let places = self.shared.outrun.places();
        let lives = self.shared.lives.lock();
        let known = places
            .into_iter()
            .filter_map(|place| Some((lives.get(&place.location)?.clone(), place.branch)));
        known.collect()
    }

    /// The two ends of an upload: see [`ipc::upload`].
    pub fn upload(&self) -> (Upload, UploadReader) {
        ipc::upload(self.memory())
    }

    /// An upload that is here in full.
    pub fn whole_upload(&self, body: &[u8]) -> UploadReader {
        let (upload, reader) = self.upload();
        // Whether more may come is no question: nothing more does.
        upload.push(body);
        upload.finish();
        reader
    }

    /// Creates a root directory if need be and proves that it can be written.
    pub async fn open_root(&self, root: &str, storage_options: StorageOptions) -> Result<()> {
        self.shared.links.below(root);
        root::open(&self.shared.caches, root, storage_options).await
    }

    /// The tables and namespaces that LanceDB tools have put into a root.
    pub async fn scan_root(
        &self,
        root: &str,
        storage_options: StorageOptions,
    ) -> Result<RootContents> {
        let shared = &self.shared;
        root::scan(&shared.caches, &shared.links, root, storage_options).await
    }

    /// What is at a location: nothing is opened.
    pub async fn contents(
        &self,
        location: &str,
        storage_options: StorageOptions,
    ) -> Result<Contents> {
        let shared = &self.shared;
        root::contents(&shared.caches, &shared.links, location, storage_options).await
    }

    /// Other servers take this process for alive for so long from now on, at least. Once this was said, files
    /// are removed only as long as that lasts.
    pub fn renew_lease(&self, left: Duration) {
        self.shared.lease.renew(left);
    }

    pub(crate) fn lease(&self) -> &Lease {
        &self.shared.lease
    }

    /// Removes what Lance and joust made for a table, and the table's directory if it is empty then; succeeds
    /// when there is nothing. Gives back the names of what stays there. The caller sees to it that nothing
    /// is being written there: a commit that comes after would bring back a table without its data.
    pub async fn remove_table(
        &self,
        location: &str,
        storage_options: StorageOptions,
    ) -> Result<Vec<String>> {
        self.close_table(location);
        let shared = &self.shared;
        let removal = root::remove(&shared.caches, &shared.links, location, storage_options);
        let left = shared.lease.during(removal).await?;
        self.close_table(location);
        Ok(left)
    }

    /// Closes what else is open of a table's branch, with other storage options: it may be open at an old
    /// version that nobody reads.
    pub(crate) fn close_others(&self, own: &Handle) {
        let handles = self.shared.handles.lock();
        let others = handles.values().filter(|other| other.is_beside(own));
        others.for_each(|other| other.close());
    }

    /// Closes a table and all its branches: what is known of the files there is forgotten.
    pub fn close_table(&self, location: &str) {
        self.shared.lives.lock().remove(location);
        self.shared.close(location);
    }
}

impl Shared {
    /// The branches of the table at a location, whichever handles on it there are.
    fn branches(&self, location: &str) -> Arc<Branches> {
        let mut known = self.branches.lock();
        if let Some(branches) = known.get(location).and_then(Weak::upgrade) {
            return branches;
        }
        // Now and then: most are of tables that are open.
        if known.len() == known.capacity() {
            known.retain(|_, branches| branches.strong_count() > 0);
        }
        let branches = Arc::default();
        known.insert(location.to_string(), Arc::downgrade(&branches));
        branches
    }

    fn close(&self, location: &str) {
        self.handles.lock().retain(|address, handle| {
            let other = address.location != location;
            if !other {
                handle.close();
            }
            other
        });
    }

    /// Closes the least recently used tables when too many are known. A tenth at a time, so that
    /// the cost is spread over many calls.
    fn close_idle(&self, handles: &mut HashMap<Address, Arc<Handle>>, keep: &Arc<Handle>) {
        let limit = self.options.open_tables.max(1);
        if handles.len() <= limit + limit / 10 {
            return;
        }
        let mut ages: Vec<u64> = handles.values().map(|handle| handle.last_used()).collect();
        let surplus = handles.len() - limit;
        let (_, threshold, _) = ages.select_nth_unstable(surplus);
        let threshold = *threshold;
        handles.retain(|_, handle| {
            let stays = handle.last_used() >= threshold || Arc::ptr_eq(handle, keep);
            if !stays {
                handle.close();
            }
            stays
        });
    }
}
