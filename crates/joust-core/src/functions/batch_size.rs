//! The number of rows of a call.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::Serialize;

use crate::error::{Error, Result};

/// Rows of the first call. A function may take a minute for each row.
const FIRST_ROWS: usize = 8;
/// A backfill reads no more rows at once.
const MOST_ROWS: usize = 4_096;
/// The input of a call has about this many bytes at most.
const MOST_BYTES: usize = 16 << 20;
/// How long a call should take. A shorter one spends more time on messages, a longer one delays progress and memory.
const TARGET: Duration = Duration::from_millis(500);

/// The bounds of the rows of a call. With equal ones the number is not adapted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BatchBounds {
    /// Less only if the rows are large, if fewer are left, or after a call that ended its process.
    pub least: usize,
    pub most: usize,
}

impl Default for BatchBounds {
    fn default() -> Self {
        Self {
            least: 1,
            most: MOST_ROWS,
        }
    }
}

impl BatchBounds {
    /// `None`: the default. Code 13 if there is no number between them.
    pub fn new(least: Option<usize>, most: Option<usize>) -> Result<Self> {
        let most = most.unwrap_or(MOST_ROWS).min(MOST_ROWS);
        let least = least.unwrap_or(1);
        match least <= most {
            true => Ok(Self { least, most }),
            false => Err(Error::invalid(format!(
                "a call of the function has at least {least} rows (min_checkpoint_size) and at most {most} \
                 (checkpoint_size, max_checkpoint_size, and {MOST_ROWS} in any case): the first number must not be \
                 greater"
            ))),
        }
    }
}

/// Adapts the number of rows of a call to the speed of a function. Concurrent calls share it.
pub struct BatchSize {
    rows: AtomicUsize,
    bounds: BatchBounds,
}

impl BatchSize {
    pub fn new(bounds: BatchBounds) -> Self {
        Self {
            rows: AtomicUsize::new(FIRST_ROWS.clamp(bounds.least, bounds.most)),
            bounds,
        }
    }

    /// The rows of the next call, whose input has `bytes_per_row`.
    pub fn rows(&self, bytes_per_row: usize) -> usize {
        let fit = MOST_BYTES / bytes_per_row.max(1);
        self.rows.load(Ordering::Relaxed).min(fit).max(1)
    }

    /// A call with `rows` ended its process: the next one has at most half as many.
    pub fn ended(&self, rows: usize) {
        self.rows.store((rows / 2).max(1), Ordering::Relaxed);
    }

    /// A call with `rows` took `time`: the next one has at most twice and at least half as many.
    pub fn took(&self, rows: usize, time: Duration) {
        let micros = time.as_micros().max(1);
        let wanted = rows as u128 * TARGET.as_micros() / micros;
        let wanted = usize::try_from(wanted).unwrap_or(MOST_ROWS);
        // A fast call with the last rows of a batch does not show that more rows would be too many.
        if rows <= wanted && rows < self.rows.load(Ordering::Relaxed) {
            return;
        }
        let next = wanted.clamp((rows / 2).max(1), rows.saturating_mul(2));
        let next = next.clamp(self.bounds.least, self.bounds.most);
        self.rows.store(next, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fast_function_gets_larger_batches() {
        let size = BatchSize::new(BatchBounds::default());
        let mut rows = size.rows(8);
        assert_eq!(rows, FIRST_ROWS);
        for _ in 0..20 {
            size.took(rows, Duration::from_micros(rows as u64));
            let next = size.rows(8);
            assert!(next == rows * 2 || next == MOST_ROWS);
            rows = next;
        }
        assert_eq!(rows, MOST_ROWS);
    }

    #[test]
    fn a_fast_call_with_few_rows_does_not_make_the_next_one_smaller() {
        let size = BatchSize::new(BatchBounds::default());
        for _ in 0..20 {
            size.took(size.rows(8), Duration::ZERO);
        }
        size.took(10, Duration::from_millis(1));
        assert_eq!(size.rows(8), MOST_ROWS);
        size.took(10, Duration::from_secs(10));
        assert_eq!(size.rows(8), 5);
    }

    #[test]
    fn a_slow_function_gets_one_row() {
        let size = BatchSize::new(BatchBounds::default());
        for _ in 0..5 {
            let rows = size.rows(8);
            size.took(rows, Duration::from_secs(10) * rows as u32);
        }
        assert_eq!(size.rows(8), 1);
    }

    #[test]
    fn a_function_that_ends_its_process_gets_smaller_batches() {
        let size = BatchSize::new(BatchBounds::default());
        size.ended(FIRST_ROWS);
        assert_eq!(size.rows(8), FIRST_ROWS / 2);
        size.ended(1);
        assert_eq!(size.rows(8), 1);
    }

    #[test]
    fn a_call_with_large_rows_has_few_of_them() {
        let size = BatchSize::new(BatchBounds::default());
        for _ in 0..20 {
            size.took(size.rows(8), Duration::ZERO);
        }
        assert_eq!(size.rows(4 << 20), 4);
        assert_eq!(size.rows(1 << 30), 1);
    }

    #[test]
    fn the_rows_stay_between_the_bounds() {
        let bounds = BatchBounds::new(Some(3), Some(50)).unwrap();
        let size = BatchSize::new(bounds);
        assert_eq!(size.rows(8), FIRST_ROWS);
        for _ in 0..9 {
            size.took(size.rows(8), Duration::ZERO);
        }
        assert_eq!(size.rows(8), 50);
        for _ in 0..9 {
            size.took(size.rows(8), Duration::from_secs(100));
        }
        assert_eq!(size.rows(8), 3);
        let fixed = BatchSize::new(BatchBounds::new(Some(20), Some(20)).unwrap());
        for time in [Duration::ZERO, Duration::from_secs(100)] {
            assert_eq!(fixed.rows(8), 20);
            fixed.took(20, time);
        }
        // A call that ends its process is bisected whatever the bounds.
        fixed.ended(20);
        assert_eq!(fixed.rows(8), 10);
    }

    #[test]
    fn bounds_without_a_number_between_them_are_refused() {
        assert!(BatchBounds::new(Some(5), Some(4)).is_err());
        assert!(BatchBounds::new(Some(MOST_ROWS + 1), None).is_err());
        let most = BatchBounds::new(None, Some(MOST_ROWS + 1)).unwrap();
        assert_eq!(most, BatchBounds::default());
    }
}
