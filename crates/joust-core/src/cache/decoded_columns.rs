//! Whole columns, decoded.
//!
//! Use admits a column: once answers have read a certain share of the table's rows of it or, for a column that is
//! read whole each time, at the second reading. When there is no room, columns with fewer uses for each byte
//! than the new one are evicted, so small columns come first.
//!
//! Values are stored by fragment, under the names of its files, which never change: a version reuses what an
//! earlier one has read, and an append costs the reading of its new rows only. Values of deleted rows are
//! stored too.

use std::sync::Arc;

use arrow::array::{ArrayRef, new_empty_array};
use lance::Dataset;
use lance_core::datatypes::Field;
use lance_table::format::Fragment;
use parking_lot::Mutex;

use super::column::Column;
use super::column_store::{Columns, Key, PATIENCE};
use super::load_column::{self, Read};
use crate::error::Result;
use crate::version_key::VersionKey;

/// Readings before a column that is read in part may be admitted.
const READINGS: u64 = 8;
/// It is admitted once the rows that were read, times this, are all rows.
const SHARE: u64 = 128;

/// How a column is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// So many rows of it.
    Rows(usize),
    /// All of it: the reader waits until it is loaded.
    Whole,
}

/// Columns of all tables, up to a number of bytes.
pub struct DecodedColumns {
    columns: Arc<Mutex<Columns>>,
    limits: Limits,
}

#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Bytes of all columns, those included that are read.
    budget: usize,
    most_in_one_array: usize,
}

impl DecodedColumns {
    pub fn new(budget: usize) -> Self {
        Self {
            columns: Arc::default(),
            limits: Limits {
                budget,
                most_in_one_array: load_column::MOST_IN_ONE_ARRAY,
            },
        }
    }

    /// The column, when it is in memory or admitted now. `None`: read the table.
    pub async fn column(
        &self,
        dataset: &Arc<Dataset>,
        field: &Field,
        reading: Reading,
    ) -> Result<Option<Arc<Column>>> {
        let state = VersionKey::of(dataset);
        let key = Key::of(dataset, field);
        if let Some(column) = self.used(&key, &state, reading) {
            return Ok(Some(column));
        }
        if !load_column::can_be_cached(field) || !self.is_wanted(&key, dataset, field, reading) {
            return Ok(None);
        }
        let loading = self.columns.lock().entry(&key).loading.clone();
        match reading {
            Reading::Whole => {
                let _lock = loading.lock().await;
                if let Some(column) = self.columns.lock().at(&key, &state) {
                    return Ok(Some(column));
                }
                let load = load(&self.columns, self.limits, &key, dataset, field);
                Box::pin(load).await
            }
            Reading::Rows(_) => {
                // Concurrent readers read the table.
                let Ok(lock) = loading.try_lock_owned() else {
                    return Ok(None);
                };
                let (columns, limits) = (self.columns.clone(), self.limits);
                let (dataset, field) = (dataset.clone(), field.clone());
                tokio::spawn(async move {
                    let _lock = lock;
                    // The same failure is reported to the next reader of the table.
                    let _ = load(&columns, limits, &key, &dataset, &field).await;
                });
                Ok(None)
            }
        }
    }

    /// Loads a column before any request for it, where there is free room. `None`: there is none, or the column
    /// cannot be cached.
    pub async fn bring(
        &self,
        dataset: &Arc<Dataset>,
        field: &Field,
    ) -> Result<Option<Arc<Column>>> {
        let state = VersionKey::of(dataset);
        let key = Key::of(dataset, field);
        let free = self.limits.budget.saturating_sub(self.columns.lock().bytes);
        if !load_column::can_be_cached(field) || !fits(dataset, field, free) {
            return Ok(self.columns.lock().at(&key, &state));
        }
        let loading = self.columns.lock().entry(&key).loading.clone();
        let _lock = loading.lock().await;
        if let Some(column) = self.columns.lock().at(&key, &state) {
            return Ok(Some(column));
        }
        if self.columns.lock().entry(&key).has_too_long(dataset) {
            return Ok(None);
        }
        let column = Box::pin(load(&self.columns, self.limits, &key, dataset, field)).await?;
        // A real request for it may evict other columns, which this did not.
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
        let state = VersionKey::of(dataset);
        let key = Key::of(dataset, field);
        if let Some(column) = self.used(&key, &state, Reading::Rows(0)) {
            return Ok(Some(column));
        }
        let manifest = dataset.manifest();
        let part = numbers
            .iter()
            .filter_map(|number| manifest.fragments.get(*number));
        let rows: usize = part.clone().filter_map(|own| own.physical_rows).sum();
        let bytes = load_column::width(&field.data_type()).map(|width| width.saturating_mul(rows));
        if !load_column::can_be_cached(field)
            || bytes.is_none_or(|bytes| bytes > self.limits.budget / 2)
        {
            return Ok(None);
        }
        let loading = self.columns.lock().entry(&key).loading.clone();
        let _lock = loading.lock().await;
        if let Some(column) = self.columns.lock().part(&key, &state) {
            return Ok(Some(column));
        }
        let read = read(&self.columns, self.limits, &key, dataset, field, part);
        let Some(values) = Box::pin(read).await? else {
            return Ok(None);
        };
        let empty = new_empty_array(&field.data_type());
        let mut fragments = vec![empty; manifest.fragments.len()];
        for (number, values) in numbers.iter().zip(values) {
            fragments[*number] = values;
        }
        let column = Arc::new(Column::new(fragments));
        let mut columns = self.columns.lock();
        let entry = columns.entry(&key);
        entry.part = Some((state, column.clone()));
        columns.let_go(&key);
        Ok(Some(column))
    }

    /// The column of a version that is at hand; counts as a use either way.
    fn used(&self, key: &Key, state: &VersionKey, reading: Reading) -> Option<Arc<Column>> {
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
        if !fits(dataset, field, self.limits.budget) {
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
        if entry.has_too_long(dataset) {
            return false;
        }
        // Fragments of another version are in memory: only new ones are read.
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

/// Whether a whole column fits into so many bytes, as far as that is known before it is read.
fn fits(dataset: &Dataset, field: &Field, bytes: usize) -> bool {
    // Nested fields are read with their parents.
    let is_own = dataset.schema().fields.iter().any(|own| own.id == field.id);
    let mut fragments = dataset.manifest().fragments.iter();
    let is_plain =
        fragments.all(|fragment| fragment.overlays.is_empty() && fragment.physical_rows.is_some());
    let rows = physical_rows(dataset) as usize;
    let width = load_column::width(&field.data_type());
    is_own && is_plain && width.is_none_or(|width| width.saturating_mul(rows) <= bytes)
}

/// Assembles a version's column from stored and newly read fragments; `None` when there is no room.
async fn load(
    columns: &Mutex<Columns>,
    limits: Limits,
    key: &Key,
    dataset: &Arc<Dataset>,
    field: &Field,
) -> Result<Option<Arc<Column>>> {
    let fragments = dataset.manifest().fragments.iter();
    let Some(fragments) = read(columns, limits, key, dataset, field, fragments).await? else {
        return Ok(None);
    };
    let column = Arc::new(Column::new(fragments));
    columns.lock().finish(key, VersionKey::of(dataset), &column);
    Ok(Some(column))
}

/// Room for the values of a fragment while they are read.
struct Loading<'a> {
    columns: &'a Mutex<Columns>,
    key: &'a Key,
    budget: usize,
    bytes: usize,
}

impl<'a> Loading<'a> {
    fn new(columns: &'a Mutex<Columns>, key: &'a Key, budget: usize) -> Self {
        Self {
            columns,
            key,
            budget,
            bytes: 0,
        }
    }

    fn take(&mut self, bytes: usize) -> bool {
        let has_room = self.columns.lock().take(self.key, bytes, self.budget);
        self.bytes += if has_room { bytes } else { 0 };
        has_room
    }
}

impl Drop for Loading<'_> {
    fn drop(&mut self) {
        self.columns.lock().give_back(self.bytes);
    }
}

/// Reads the missing fragments, as long as there is room.
async fn read(
    columns: &Mutex<Columns>,
    limits: Limits,
    key: &Key,
    dataset: &Arc<Dataset>,
    field: &Field,
    fragments: impl Iterator<Item = &Fragment>,
) -> Result<Option<Vec<ArrayRef>>> {
    let mut all = Vec::new();
    for fragment in fragments {
        let name = load_column::identity(fragment);
        let known = columns.lock().entry(key).fragments.get(&name).cloned();
        let values = match known {
            Some(values) => values,
            None => {
                let mut loading = Loading::new(columns, key, limits.budget);
                let take = |bytes| loading.take(bytes);
                let most = limits.most_in_one_array;
                let values = match load_column::read(dataset, field, fragment, most, take).await? {
                    Read::Values(values) => values,
                    Read::NoRoom => return Ok(None),
                    Read::TooLong => {
                        columns.lock().refuse_for_good(key, name);
                        return Ok(None);
                    }
                };
                drop(loading);
                if !columns.lock().keep(key, name, &values, limits.budget) {
                    return Ok(None);
                }
                values
            }
        };
        all.push(values);
    }
    Ok(Some(all))
}

#[cfg(test)]
#[path = "decoded_columns_tests.rs"]
mod tests;
