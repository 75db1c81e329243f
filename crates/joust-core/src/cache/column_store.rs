//! The column store: which decoded columns are in memory, and which are evicted when there is no room.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use lance::Dataset;
use lance_core::datatypes::Field;

use super::column::Column;
use super::load_column::identity;
use crate::version_key::VersionKey;

/// Versions whose arrays are assembled.
const VERSIONS: usize = 2;
/// Uses of any column before a column that found no room is tried again.
pub const PATIENCE: u64 = 4_096;

/// Columns of all tables.
#[derive(Default)]
pub struct Columns {
    by_key: HashMap<Key, Entry>,
    pub bytes: usize,
    /// Uses of all columns.
    pub clock: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    table: String,
    field: i32,
    /// A column without values has no file. Once it is dropped, a new column may get its field id, and
    /// with it the same fragments and files, but another type.
    data_type: DataType,
}

#[derive(Default)]
pub struct Entry {
    pub fragments: HashMap<String, ArrayRef>,
    bytes: usize,
    /// Halved periodically.
    pub uses: u64,
    pub rows_read: u64,
    pub last_used: u64,
    /// The latest versions, the latest last.
    versions: Vec<(VersionKey, Arc<Column>)>,
    /// The version of which single fragments were requested last.
    pub part: Option<(VersionKey, Arc<Column>)>,
    pub loading: Arc<tokio::sync::Mutex<()>>,
    /// The time at which there was no room.
    pub refused: Option<u64>,
    /// A fragment whose values do not fit one array, by its [identity](super::identity): no version that
    /// has it is loaded.
    too_long: Option<String>,
}

fn weight(values: &ArrayRef) -> usize {
    values.get_array_memory_size() + 256
}

impl Key {
    pub fn of(dataset: &Dataset, field: &Field) -> Self {
        Self {
            table: dataset.uri().to_string(),
            field: field.id,
            data_type: field.data_type(),
        }
    }
}

impl Entry {
    /// Whether a version has a fragment that is known to be too long.
    pub fn has_too_long(&self, dataset: &Dataset) -> bool {
        let mut fragments = dataset.manifest().fragments.iter();
        let too_long = self.too_long.as_ref();
        too_long.is_some_and(|known| fragments.any(|own| identity(own) == *known))
    }
}

impl Columns {
    pub fn entry(&mut self, key: &Key) -> &mut Entry {
        if !self.by_key.contains_key(key) {
            self.by_key.insert(key.clone(), Entry::default());
            self.forget_unused();
        }
        self.by_key.entry(key.clone()).or_default()
    }

    /// Limits the number of use counts of columns that are not in memory.
    fn forget_unused(&mut self) {
        const KNOWN: usize = 10_000;
        if self.by_key.len() > KNOWN {
            let old = self.clock.saturating_sub(KNOWN as u64);
            self.by_key
                .retain(|_, entry| entry.bytes > 0 || entry.last_used >= old);
        }
    }

    pub fn at(&self, key: &Key, state: &VersionKey) -> Option<Arc<Column>> {
        let versions = &self.by_key.get(key)?.versions;
        let found = versions.iter().rev().find(|(own, _)| own == state);
        found.map(|(_, column)| column.clone())
    }

    /// The fragments of a version that were requested by themselves.
    pub fn part(&self, key: &Key, state: &VersionKey) -> Option<Arc<Column>> {
        let part = self.by_key.get(key)?.part.as_ref();
        part.filter(|(own, _)| own == state)
            .map(|(_, column)| column.clone())
    }

    /// Reserves room for values that are being read; false when there is none. [Release](Self::give_back) it
    /// afterwards.
    pub fn take(&mut self, key: &Key, bytes: usize, budget: usize) -> bool {
        let has_room = self.has_room(key, bytes, budget);
        self.bytes += if has_room { bytes } else { 0 };
        has_room
    }

    pub fn give_back(&mut self, bytes: usize) {
        self.bytes -= bytes;
    }

    /// Whether there is room for more of a column, after others were evicted for it. If not, the column is evicted
    /// too.
    fn has_room(&mut self, key: &Key, bytes: usize, budget: usize) -> bool {
        while self.bytes + bytes > budget {
            if !self.make_room(key) {
                self.refuse(key);
                return false;
            }
        }
        true
    }

    /// Stores the values of a fragment; false when there is no room.
    pub fn keep(&mut self, key: &Key, name: String, values: &ArrayRef, budget: usize) -> bool {
        let weight = weight(values);
        if !self.has_room(key, weight, budget) {
            return false;
        }
        let entry = self.entry(key);
        entry.refused = None;
        if entry.fragments.insert(name, values.clone()).is_none() {
            entry.bytes += weight;
            self.bytes += weight;
        }
        true
    }

    /// Evicts the column that has the fewest uses for its bytes, if it has fewer than `key`'s.
    fn make_room(&mut self, key: &Key) -> bool {
        let now = self.clock;
        let worth = |entry: &Entry| {
            let age = (now - entry.last_used) / PATIENCE;
            (entry.uses >> age.min(63)) as f64 / entry.bytes.max(1) as f64
        };
        let own = self.by_key.get(key).map_or(0.0, worth);
        let others = self
            .by_key
            .iter()
            .filter(|(other, entry)| *other != key && entry.bytes > 0);
        let least = others
            .map(|(other, entry)| (other.clone(), worth(entry)))
            .min_by(|(_, a), (_, b)| a.total_cmp(b));
        match least {
            Some((other, least)) if least < own => {
                self.remove(&other);
                true
            }
            _ => false,
        }
    }

    /// There is no room for a column: evicts it, and does not try it again for a while.
    pub fn refuse(&mut self, key: &Key) {
        self.remove(key);
        let now = self.clock;
        self.entry(key).refused = Some(now);
    }

    /// As [`refuse`](Self::refuse), for as long as a version has the fragment.
    pub fn refuse_for_good(&mut self, key: &Key, fragment: String) {
        self.refuse(key);
        self.entry(key).too_long = Some(fragment);
    }

    fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.by_key.get_mut(key) {
            self.bytes -= entry.bytes;
            entry.bytes = 0;
            entry.fragments.clear();
            entry.versions.clear();
            entry.part = None;
        }
    }

    /// Stores the assembled column of a version.
    pub fn finish(&mut self, key: &Key, state: VersionKey, column: &Arc<Column>) {
        let entry = self.entry(key);
        let here: HashSet<*const ()> = entry.fragments.values().map(address).collect();
        // Another column may have used the room meanwhile.
        if !column
            .fragments
            .iter()
            .all(|values| here.contains(&address(values)))
        {
            return;
        }
        entry.versions.push((state, column.clone()));
        if entry.versions.len() > VERSIONS {
            entry.versions.remove(0);
        }
        self.let_go(key);
    }

    /// Drops fragments that no assembled version has.
    pub fn let_go(&mut self, key: &Key) {
        let entry = self.entry(key);
        let mut used: HashSet<*const ()> = HashSet::new();
        for (_, column) in entry.versions.iter().chain(&entry.part) {
            used.extend(column.fragments.iter().map(address));
        }
        let mut freed = 0;
        entry.fragments.retain(|_, values| {
            let stays = used.contains(&address(values));
            if !stays {
                freed += weight(values);
            }
            stays
        });
        entry.bytes -= freed;
        self.bytes -= freed;
    }
}

fn address(values: &ArrayRef) -> *const () {
    Arc::as_ptr(values).cast()
}
