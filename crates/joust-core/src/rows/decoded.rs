//! Columns that are kept whole and decoded.
//!
//! A column comes in by use: when what answers have read of it amounts to a share of the table, or, for
//! one that is read whole each time, at the second reading. When there is no room, columns leave that
//! are asked for less than the newcomer for each byte that they take; so small columns come first.
//!
//! Values are kept for each fragment, under the names of its files, which never change: a version finds
//! there what an earlier one has read, and an append costs the reading of its own rows. Which rows of a
//! fragment are alive is no matter here.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, UInt32Array, new_empty_array};
use arrow::compute::{interleave, take};
use lance::Dataset;
use lance_core::datatypes::Field;
use lance_table::format::Fragment;
use parking_lot::Mutex;

use super::load;
use crate::error::Result;
use crate::state::State;

/// Readings before a column that is read in part may come in.
const READINGS: u64 = 8;
/// It comes in when this many times the rows that were read are all rows.
const SHARE: u64 = 128;
/// The arrays of so many versions are at hand.
const VERSIONS: usize = 2;
/// Uses of any column until a column that found no room is tried again.
const PATIENCE: u64 = 4_096;

/// A column of a version.
pub struct Column {
    /// An array for each fragment of the version, in its order.
    pub fragments: Vec<ArrayRef>,
}

/// How a column is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// So many rows of it.
    Rows(usize),
    /// All of it: the reader waits until it is here.
    Whole,
}

/// Columns of all tables, up to a number of bytes.
pub struct Decoded {
    columns: Arc<Mutex<Columns>>,
    budget: usize,
}

#[derive(Default)]
struct Columns {
    by_key: HashMap<Key, Entry>,
    bytes: usize,
    /// Uses of all columns.
    clock: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    table: String,
    field: i32,
}

#[derive(Default)]
struct Entry {
    fragments: HashMap<String, ArrayRef>,
    bytes: usize,
    /// Halves when the clock has gone on a while.
    uses: u64,
    rows_read: u64,
    last_used: u64,
    /// The latest versions, the latest last.
    versions: Vec<(State, Arc<Column>)>,
    /// The version of which some fragments were wanted last.
    part: Option<(State, Arc<Column>)>,
    loading: Arc<tokio::sync::Mutex<()>>,
    /// There was no room at this time.
    refused: Option<u64>,
}

impl Decoded {
    pub fn new(budget: usize) -> Self {
        Self {
            columns: Arc::default(),
            budget,
        }
    }

    /// The column, when it is here or comes in now. `None`: read the table.
    pub async fn column(
        &self,
        dataset: &Arc<Dataset>,
        field: &Field,
        reading: Reading,
    ) -> Result<Option<Arc<Column>>> {
        let state = State::of(dataset);
        let key = Key::of(dataset, field);
        if let Some(column) = self.used(&key, &state, reading) {
            return Ok(Some(column));
        }
        if !load::can_be_kept(field) || !self.is_wanted(&key, dataset, field, reading) {
            return Ok(None);
        }
        let loading = self.columns.lock().entry(&key).loading.clone();
        match reading {
            Reading::Whole => {
                let _turn = loading.lock().await;
                if let Some(column) = self.columns.lock().at(&key, &state) {
                    return Ok(Some(column));
                }
                let load = load(&self.columns, self.budget, &key, dataset, field);
                Box::pin(load).await
            }
            Reading::Rows(_) => {
                // Who comes meanwhile reads the table.
                let Ok(turn) = loading.try_lock_owned() else {
                    return Ok(None);
                };
                let (columns, budget) = (self.columns.clone(), self.budget);
                let (dataset, field) = (dataset.clone(), field.clone());
                tokio::spawn(async move {
                    let _turn = turn;
                    // What fails here fails for the next reader of the table too, who tells.
                    let _ = load(&columns, budget, &key, &dataset, &field).await;
                });
                Ok(None)
            }
        }
    }

    /// Loads a column that nobody has asked for yet, where there is room that no other column has.
    /// `None`: there is none, or it can't be kept.
    pub async fn bring(
        &self,
        dataset: &Arc<Dataset>,
        field: &Field,
    ) -> Result<Option<Arc<Column>>> {
        let state = State::of(dataset);
        let key = Key::of(dataset, field);
        let free = self.budget.saturating_sub(self.columns.lock().bytes);
        if !load::can_be_kept(field) || !fits(dataset, field, free) {
            return Ok(self.columns.lock().at(&key, &state));
        }
        let loading = self.columns.lock().entry(&key).loading.clone();
        let _turn = loading.lock().await;
        if let Some(column) = self.columns.lock().at(&key, &state) {
            return Ok(Some(column));
        }
        let column = Box::pin(load(&self.columns, self.budget, &key, dataset, field)).await?;
        // Who asks for it in earnest has a claim that this had not.
        self.columns.lock().entry(&key).refused = None;
        Ok(column)
    }

    /// Some fragments of a column, by their numbers in the version; the others are empty. `None`: there is
    /// no room for them.
    pub async fn fragments(
        &self,
        dataset: &Arc<Dataset>,
        field: &Field,
        numbers: &[usize],
    ) -> Result<Option<Arc<Column>>> {
        let state = State::of(dataset);
        let key = Key::of(dataset, field);
        if let Some(column) = self.used(&key, &state, Reading::Rows(0)) {
            return Ok(Some(column));
        }
        let manifest = dataset.manifest();
        let part = numbers
            .iter()
            .filter_map(|number| manifest.fragments.get(*number));
        let rows: usize = part.clone().filter_map(|own| own.physical_rows).sum();
        let bytes = load::width(&field.data_type()).map(|width| width.saturating_mul(rows));
        if !load::can_be_kept(field) || bytes.is_none_or(|bytes| bytes > self.budget / 2) {
            return Ok(None);
        }
        let loading = self.columns.lock().entry(&key).loading.clone();
        let _turn = loading.lock().await;
        if let Some(column) = self.columns.lock().part(&key, &state) {
            return Ok(Some(column));
        }
        let read = read(&self.columns, self.budget, &key, dataset, field, part);
        let Some(values) = Box::pin(read).await? else {
            return Ok(None);
        };
        let empty = new_empty_array(&field.data_type());
        let mut fragments = vec![empty; manifest.fragments.len()];
        for (number, values) in numbers.iter().zip(values) {
            fragments[*number] = values;
        }
        let column = Arc::new(Column { fragments });
        let mut columns = self.columns.lock();
        let entry = columns.entry(&key);
        entry.part = Some((state, column.clone()));
        columns.let_go(&key);
        Ok(Some(column))
    }

    /// The column of a version that is at hand; counts as a use either way.
    fn used(&self, key: &Key, state: &State, reading: Reading) -> Option<Arc<Column>> {
        let mut columns = self.columns.lock();
        columns.clock += 1;
        let now = columns.clock;
        let entry = columns.entry(key);
        entry.uses += 1;
        entry.last_used = now;
        if let Reading::Rows(rows) = reading {
            entry.rows_read += rows as u64;
        }
        match reading {
            Reading::Rows(0) => columns.at(key, state).or_else(|| columns.part(key, state)),
            _ => columns.at(key, state),
        }
    }

    fn is_wanted(&self, key: &Key, dataset: &Dataset, field: &Field, reading: Reading) -> bool {
        if !fits(dataset, field, self.budget) {
            return false;
        }
        let mut columns = self.columns.lock();
        let now = columns.clock;
        let entry = columns.entry(key);
        if entry
            .refused
            .is_some_and(|refused| now < refused + PATIENCE)
        {
            return false;
        }
        // Those of another version are here: only what is new is read.
        if !entry.fragments.is_empty() {
            return true;
        }
        match reading {
            Reading::Whole => entry.uses > 1,
            Reading::Rows(_) => {
                let enough = entry.rows_read.saturating_mul(SHARE) >= physical_rows(dataset);
                entry.uses >= READINGS && enough
            }
        }
    }
}

/// Rows of all fragments, deleted ones too.
fn physical_rows(dataset: &Dataset) -> u64 {
    let fragments = dataset.manifest().fragments.iter();
    let rows = fragments.filter_map(|fragment| fragment.physical_rows);
    rows.sum::<usize>() as u64
}

/// Whether a column can be kept whole in so many bytes, as far as that is known before it is read.
fn fits(dataset: &Dataset, field: &Field, bytes: usize) -> bool {
    // What is nested is read with what it is in.
    let is_own = dataset.schema().fields.iter().any(|own| own.id == field.id);
    let mut fragments = dataset.manifest().fragments.iter();
    let is_plain =
        fragments.all(|fragment| fragment.overlays.is_empty() && fragment.physical_rows.is_some());
    let rows = physical_rows(dataset) as usize;
    let width = load::width(&field.data_type());
    is_own && is_plain && width.is_none_or(|width| width.saturating_mul(rows) <= bytes)
}

/// Makes a version's column from what is here and what is read now; `None` when there is no room.
async fn load(
    columns: &Mutex<Columns>,
    budget: usize,
    key: &Key,
    dataset: &Arc<Dataset>,
    field: &Field,
) -> Result<Option<Arc<Column>>> {
    let fragments = dataset.manifest().fragments.iter();
    let Some(fragments) = read(columns, budget, key, dataset, field, fragments).await? else {
        return Ok(None);
    };
    let column = Arc::new(Column { fragments });
    columns.lock().finish(key, State::of(dataset), &column);
    Ok(Some(column))
}

/// Reads the fragments that are not here yet, as long as there is room.
async fn read(
    columns: &Mutex<Columns>,
    budget: usize,
    key: &Key,
    dataset: &Arc<Dataset>,
    field: &Field,
    fragments: impl Iterator<Item = &Fragment>,
) -> Result<Option<Vec<ArrayRef>>> {
    let mut all = Vec::new();
    for fragment in fragments {
        let name = load::identity(fragment);
        let known = columns.lock().entry(key).fragments.get(&name).cloned();
        let values = match known {
            Some(values) => values,
            None => {
                let Some(values) = load::read(dataset, field, fragment, budget).await? else {
                    columns.lock().refuse(key);
                    return Ok(None);
                };
                if !columns.lock().keep(key, name, &values, budget) {
                    return Ok(None);
                }
                values
            }
        };
        all.push(values);
    }
    Ok(Some(all))
}

fn weight(values: &ArrayRef) -> usize {
    values.get_array_memory_size() + 256
}

impl Key {
    fn of(dataset: &Dataset, field: &Field) -> Self {
        Self {
            table: dataset.uri().to_string(),
            field: field.id,
        }
    }
}

impl Columns {
    fn entry(&mut self, key: &Key) -> &mut Entry {
        if !self.by_key.contains_key(key) {
            self.by_key.insert(key.clone(), Entry::default());
            self.forget_unused();
        }
        self.by_key.entry(key.clone()).or_default()
    }

    /// Counts of columns that are not here are worth little: too many of them go.
    fn forget_unused(&mut self) {
        const KNOWN: usize = 10_000;
        if self.by_key.len() > KNOWN {
            let old = self.clock.saturating_sub(KNOWN as u64);
            self.by_key
                .retain(|_, entry| entry.bytes > 0 || entry.last_used >= old);
        }
    }

    fn at(&self, key: &Key, state: &State) -> Option<Arc<Column>> {
        let versions = &self.by_key.get(key)?.versions;
        let found = versions.iter().rev().find(|(own, _)| own == state);
        found.map(|(_, column)| column.clone())
    }

    /// Those fragments of a version that were wanted by themselves.
    fn part(&self, key: &Key, state: &State) -> Option<Arc<Column>> {
        let part = self.by_key.get(key)?.part.as_ref();
        part.filter(|(own, _)| own == state)
            .map(|(_, column)| column.clone())
    }

    /// Keeps the values of a fragment; false when there is no room.
    fn keep(&mut self, key: &Key, name: String, values: &ArrayRef, budget: usize) -> bool {
        let weight = weight(values);
        while self.bytes + weight > budget {
            if !self.make_room(key) {
                self.refuse(key);
                return false;
            }
        }
        let entry = self.entry(key);
        entry.refused = None;
        if entry.fragments.insert(name, values.clone()).is_none() {
            entry.bytes += weight;
            self.bytes += weight;
        }
        true
    }

    /// Drops the column that is worth least for its bytes, if it is worth less than `key`'s.
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

    /// There is no room for a column: what is here of it goes, and it is not tried again for a while.
    fn refuse(&mut self, key: &Key) {
        self.remove(key);
        let now = self.clock;
        self.entry(key).refused = Some(now);
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

    /// Puts a version at hand.
    fn finish(&mut self, key: &Key, state: State, column: &Arc<Column>) {
        let entry = self.entry(key);
        let here: HashSet<*const ()> = entry.fragments.values().map(address).collect();
        // Another column may have taken the room meanwhile.
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

    /// Lets go of fragments that no version at hand has.
    fn let_go(&mut self, key: &Key) {
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

impl Column {
    /// The values at some places: a fragment's number and an offset. `None` when one is not here.
    pub fn take(&self, places: &[(usize, usize)]) -> Result<Option<ArrayRef>> {
        let known = |(fragment, offset): &(usize, usize)| {
            self.fragments
                .get(*fragment)
                .is_some_and(|values| *offset < values.len())
        };
        if !places.iter().all(known) {
            return Ok(None);
        }
        if let [values] = self.fragments.as_slice() {
            let offsets = places.iter().map(|(_, offset)| *offset as u32);
            let offsets = UInt32Array::from_iter_values(offsets);
            return Ok(Some(take(values, &offsets, None)?));
        }
        let arrays: Vec<&dyn Array> = self.fragments.iter().map(AsRef::as_ref).collect();
        Ok(Some(interleave(&arrays, places)?))
    }
}
