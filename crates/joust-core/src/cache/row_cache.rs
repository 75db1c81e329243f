//! The row cache: rows that were returned recently.
//!
//! Popular searches return the same rows again and again. For each version and choice of columns the rows that
//! were read stay in memory, in the batches that they were read in, until there are too many.

use std::collections::HashMap;
use std::future::Future;

use arrow::array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow::compute::{interleave, take_record_batch};
use parking_lot::Mutex;

use crate::error::Result;

/// Most bytes for the rows of one version and choice of columns.
pub const MOST_BYTES: usize = 32 << 20;
/// Readings of more rows are not cached.
const MOST_ROWS: usize = 200;

pub struct RecentRows {
    cached: Mutex<Cached>,
    /// Bytes.
    capacity: usize,
}

#[derive(Default)]
struct Cached {
    batches: Vec<RecordBatch>,
    /// The batch and the place in it.
    places: HashMap<u64, (usize, usize)>,
    bytes: usize,
}

impl RecentRows {
    pub fn new(capacity: usize) -> Self {
        Self {
            cached: Mutex::default(),
            capacity,
        }
    }

    /// The columns of some rows; `read` reads the missing ones.
    pub async fn columns<F: Future<Output = Result<RecordBatch>>>(
        &self,
        rows: &[u64],
        read: impl Fn(Vec<u64>) -> F,
    ) -> Result<Vec<ArrayRef>> {
        if rows.is_empty() || rows.len() > MOST_ROWS {
            return Ok(read(rows.to_vec()).await?.columns().to_vec());
        }
        if let Some(columns) = self.cached(rows)? {
            return Ok(columns);
        }
        let missing: Vec<u64> = {
            let cached = self.cached.lock();
            let unknown = |row: &&u64| !cached.places.contains_key(*row);
            rows.iter().filter(unknown).copied().collect()
        };
        let batch = compact(&read(missing.clone()).await?)?;
        self.cached.lock().insert(&missing, batch, self.capacity);
        match self.cached(rows)? {
            Some(columns) => Ok(columns),
            // Other readers have filled the cache meanwhile.
            None => Ok(read(rows.to_vec()).await?.columns().to_vec()),
        }
    }

    /// The columns, when all rows are cached.
    fn cached(&self, rows: &[u64]) -> Result<Option<Vec<ArrayRef>>> {
        let cached = self.cached.lock();
        let places = rows.iter().map(|row| cached.places.get(row).copied());
        let Some(mut places) = places.collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        // Only the batches that are needed, numbered anew.
        let mut used: Vec<usize> = Vec::new();
        for (batch, _) in &mut places {
            *batch = match used.iter().position(|known| known == batch) {
                Some(number) => number,
                None => {
                    used.push(*batch);
                    used.len() - 1
                }
            };
        }
        let batches: Vec<RecordBatch> = used
            .into_iter()
            .map(|batch| cached.batches[batch].clone())
            .collect();
        drop(cached);
        let width = batches.first().map_or(0, RecordBatch::num_columns);
        let mut columns = Vec::with_capacity(width);
        for column in 0..width {
            let arrays: Vec<&dyn Array> = batches
                .iter()
                .map(|batch| batch.column(column).as_ref())
                .collect();
            columns.push(interleave(&arrays, &places)?);
        }
        Ok(Some(columns))
    }
}

/// Copies rows out of their pages, which would stay in memory otherwise.
fn compact(batch: &RecordBatch) -> Result<RecordBatch> {
    let all = UInt32Array::from_iter_values(0..batch.num_rows() as u32);
    Ok(take_record_batch(batch, &all)?)
}

impl Cached {
    fn insert(&mut self, rows: &[u64], batch: RecordBatch, capacity: usize) {
        if batch.num_rows() != rows.len() {
            return;
        }
        let bytes = batch.get_array_memory_size() + rows.len() * 48;
        if self.bytes + bytes > capacity {
            *self = Self::default();
        }
        if bytes > capacity {
            return;
        }
        self.bytes += bytes;
        for (place, row) in rows.iter().enumerate() {
            self.places.insert(*row, (self.batches.len(), place));
        }
        self.batches.push(batch);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use arrow::array::{AsArray, StringArray};

    use super::*;

    #[test]
    fn only_rows_that_are_not_cached_are_read() {
        let read = AtomicUsize::new(0);
        let source = |rows: Vec<u64>| {
            read.fetch_add(rows.len(), Ordering::Relaxed);
            let texts: ArrayRef = Arc::new(StringArray::from_iter_values(
                rows.iter().map(|row| format!("row {row}")),
            ));
            async move { Ok(RecordBatch::try_from_iter([("c", texts)])?) }
        };
        let cache = RecentRows::new(MOST_BYTES);
        let columns = |rows: &[u64]| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .build()
                .unwrap();
            let columns = runtime.block_on(cache.columns(rows, source)).unwrap();
            let texts = columns[0].as_string::<i32>();
            texts
                .iter()
                .flatten()
                .map(str::to_string)
                .collect::<Vec<_>>()
        };
        assert_eq!(columns(&[3, 1]), ["row 3", "row 1"]);
        assert_eq!(columns(&[1, 2, 3]), ["row 1", "row 2", "row 3"]);
        assert_eq!(columns(&[2, 3, 1]), ["row 2", "row 3", "row 1"]);
        assert_eq!(read.load(Ordering::Relaxed), 3);
    }
}
