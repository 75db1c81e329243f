//! The open tables of an engine, and their shared state.

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;

use super::version_pins::{Place, VersionPins};
use super::{Handle, Table};
use crate::commit::Branches;
use crate::deadline::Deadline;
use crate::functions::Functions;
use crate::ipc::{self, Upload, UploadReader};
use crate::lease::Lease;
use crate::memory::Memory;
use crate::storage::root::Links;
use crate::storage::{Sessions, StorageOptions};

/// The most locations whose table incarnation is cached.
const MOST_INCARNATIONS: usize = 100_000;

/// Limits on open tables and on work on them.
pub(crate) struct Limits {
    /// How long a handle on a remote store may answer without a check for a newer version.
    pub staleness: Duration,
    /// The most open tables; beyond it the least recently used ones are closed.
    pub open_tables: usize,
    /// How long the engine works on a query; `None`: without a limit.
    pub query_timeout: Option<Duration>,
    /// The same for a view refresh, without the time that it waits for memory.
    pub view_timeout: Option<Duration>,
    /// Bytes of temporary files of a view refresh, or of a SQL statement.
    pub view_disk_bytes: u64,
    /// Runs Python functions; `None`: the engine runs none.
    pub functions: Option<Functions>,
    /// Workers outside of this process run them.
    pub remote_functions: bool,
}

/// Opens tables. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct Tables {
    shared: Arc<Shared>,
}

struct Shared {
    limits: Limits,
    sessions: Arc<Sessions>,
    memory: Memory,
    /// Shared state of the layers above, which this layer does not inspect.
    attachment: Box<dyn Any + Send + Sync>,
    handles: Mutex<HashMap<Address, Arc<Handle>>>,
    /// By location.
    branches: Mutex<HashMap<String, Weak<Branches>>>,
    /// The table incarnation of the files at a location, as callers reported it.
    incarnations: Mutex<HashMap<String, String>>,
    /// Not in the handles: a table may have several handles in sequence.
    pins: VersionPins,
    links: Arc<Links>,
    lease: Lease,
}

#[derive(PartialEq, Eq, Hash)]
struct Address {
    location: String,
    branch: Option<String>,
    storage_options: Vec<(String, String)>,
}

impl Tables {
    pub(crate) fn new(
        limits: Limits,
        sessions: Sessions,
        memory: Memory,
        links: Links,
        attachment: impl Any + Send + Sync,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                limits,
                sessions: Arc::new(sessions),
                memory,
                attachment: Box::new(attachment),
                handles: Mutex::default(),
                branches: Mutex::default(),
                incarnations: Mutex::default(),
                pins: VersionPins::default(),
                links: Arc::new(links),
                lease: Lease::default(),
            }),
        }
    }

    /// The table at a location (a path or URI), whether or not it exists. Does not access storage.
    pub fn table(&self, location: &str, storage_options: StorageOptions) -> Table {
        self.branch(location, storage_options, None)
    }

    /// As [`Self::table`], for one of several tables that exist at a location in sequence. `incarnation` identifies it:
    /// if another one is open at the location, it is closed first.
    pub fn table_of(
        &self,
        incarnation: &str,
        location: &str,
        storage_options: StorageOptions,
    ) -> Table {
        let mut incarnations = self.shared.incarnations.lock();
        if incarnations
            .get(location)
            .is_none_or(|known| known != incarnation)
        {
            // A table whose entry is dropped here is opened once more than necessary.
            if incarnations.len() >= MOST_INCARNATIONS {
                incarnations.clear();
            }
            incarnations.insert(location.to_string(), incarnation.to_string());
            self.shared.close(location);
        }
        drop(incarnations);
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
                self.shared.sessions.clone(),
                self.shared.limits.staleness,
                self.shared.branches(location),
                self.shared.pins.clone(),
                self.shared.links.clone(),
            ))
        });
        let handle = handle.clone();
        self.shared.close_idle(&mut handles, &handle);
        Table::new(handle, self.clone())
    }

    /// The state that the layers above attached, if it has that type.
    pub(crate) fn attachment<T: Any>(&self) -> Option<&T> {
        self.shared.attachment.downcast_ref()
    }

    /// Requests and jobs reserve their memory here.
    pub fn memory(&self) -> &Memory {
        &self.shared.memory
    }

    pub(crate) fn sessions(&self) -> &Sessions {
        &self.shared.sessions
    }

    pub(crate) fn links(&self) -> &Links {
        &self.shared.links
    }

    pub(crate) fn lease(&self) -> &Lease {
        &self.shared.lease
    }

    /// The deadline of a query. `request`: the time that its request has left.
    pub(crate) fn query_deadline(&self, request: Option<Duration>) -> Deadline {
        Deadline::new(self.shared.limits.query_timeout, "query-timeout").or_earlier(request)
    }

    /// The deadline of a view refresh.
    pub(crate) fn view_deadline(&self) -> Deadline {
        Deadline::new(self.shared.limits.view_timeout, "view-timeout")
    }

    /// Bytes of temporary files of a view refresh, or of a SQL statement.
    pub(crate) fn view_disk(&self) -> u64 {
        self.shared.limits.view_disk_bytes
    }

    /// Runs Python functions; `None`: the engine runs none.
    pub(crate) fn functions(&self) -> Option<&Functions> {
        self.shared.limits.functions.as_ref()
    }

    /// Whether the engine or workers outside of this process run Python functions.
    pub(crate) fn has_functions(&self) -> bool {
        self.functions().is_some() || self.shared.limits.remote_functions
    }

    /// Pins on old versions, and removals of versions.
    pub(crate) fn pins(&self) -> &VersionPins {
        &self.shared.pins
    }

    /// The branches with a change that loses to other processes: the incarnation of the table, as passed to
    /// [`table_of`](Self::table_of), and the branch.
    pub(crate) fn starved_branches(&self) -> Vec<(String, Option<String>)> {
        let handles = self.shared.handles.lock();
        let starving: HashSet<_> = handles
            .iter()
            .filter(|(_, handle)| handle.commit_lock.starvation().is_there())
            .map(|(address, _)| (address.location.clone(), address.branch.clone()))
            .collect();
        drop(handles);
        let incarnations = self.shared.incarnations.lock();
        starving
            .into_iter()
            .filter_map(|(location, branch)| Some((incarnations.get(&location)?.clone(), branch)))
            .collect()
    }

    /// The two ends of an upload: see [`ipc::upload`].
    pub fn upload(&self) -> (Upload, UploadReader) {
        ipc::upload(self.memory())
    }

    /// An upload whose body is complete.
    pub fn whole_upload(&self, body: &[u8]) -> UploadReader {
        let (upload, reader) = self.upload();
        // The result states whether more may be pushed; nothing more is pushed.
        upload.push(body);
        upload.finish();
        reader
    }

    /// Closes the other handles on a table's branch, with other storage options: one may be open at an old version that
    /// no reader uses.
    pub(crate) fn close_others(&self, own: &Handle) {
        let handles = self.shared.handles.lock();
        let others = handles.values().filter(|other| other.is_beside(own));
        others.for_each(|other| other.close());
    }

    /// Closes a table and all its branches. Cached data of its files has keys that no lookup uses any more, and is evicted
    /// by age.
    pub(crate) fn close_table(&self, location: &str) {
        self.shared.incarnations.lock().remove(location);
        self.shared.close(location);
    }
}

impl Shared {
    /// The branches of the table at a location, shared by all handles on it.
    fn branches(&self, location: &str) -> Arc<Branches> {
        let mut known = self.branches.lock();
        if let Some(branches) = known.get(location).and_then(Weak::upgrade) {
            return branches;
        }
        // Only when the map would grow: most entries belong to open tables.
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

    /// Closes the least recently used tables when too many are open: a tenth at a time, which spreads the cost over
    /// many calls.
    fn close_idle(&self, handles: &mut HashMap<Address, Arc<Handle>>, keep: &Arc<Handle>) {
        let limit = self.limits.open_tables.max(1);
        if handles.len() <= limit + limit / 10 {
            return;
        }
        let mut ages: Vec<u64> = handles.values().map(|handle| handle.last_used()).collect();
        let surplus = handles.len() - limit;
        let (_, threshold, _) = ages.select_nth_unstable(surplus);
        let threshold = *threshold;
        handles.retain(|_, handle| {
            let stays = handle.last_used() >= threshold
                || Arc::ptr_eq(handle, keep)
                // `starved_branches` lists it.
                || handle.commit_lock.starvation().is_there();
            if !stays {
                handle.close();
            }
            stays
        });
    }
}
