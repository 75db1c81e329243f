//! The number of rows of a call.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Rows of the first call. A function may take a minute for each row.
const FIRST_ROWS: usize = 8;
/// A backfill reads no more rows at once.
const MOST_ROWS: usize = 4_096;
/// The input of a call has about this many bytes at most.
const MOST_BYTES: usize = 16 << 20;
/// How long a call should take. A shorter one spends more time on messages, a longer one delays progress and memory.
const TARGET: Duration = Duration::from_millis(500);

/// Adapts the number of rows of a call to the speed of a function. Concurrent calls share it.
pub struct BatchSize(AtomicUsize);

impl Default for BatchSize {
    fn default() -> Self {
        Self(AtomicUsize::new(FIRST_ROWS))
    }
}

impl BatchSize {
    /// The rows of the next call, whose input has `bytes_per_row`.
    pub fn rows(&self, bytes_per_row: usize) -> usize {
        let fit = MOST_BYTES / bytes_per_row.max(1);
        self.0.load(Ordering::Relaxed).min(fit).max(1)
    }

    /// A call with `rows` ended its process: the next one has at most half as many.
    pub fn ended(&self, rows: usize) {
        self.0.store((rows / 2).max(1), Ordering::Relaxed);
    }

    /// A call with `rows` took `time`: the next one has at most twice and at least half as many.
    pub fn took(&self, rows: usize, time: Duration) {
        let micros = time.as_micros().max(1);
        let wanted = rows as u128 * TARGET.as_micros() / micros;
        let wanted = usize::try_from(wanted).unwrap_or(MOST_ROWS);
        let next = wanted.clamp((rows / 2).max(1), rows.saturating_mul(2));
        self.0.store(next.min(MOST_ROWS), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fast_function_gets_larger_batches() {
        let size = BatchSize::default();
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
    fn a_slow_function_gets_one_row() {
        let size = BatchSize::default();
        for _ in 0..5 {
            let rows = size.rows(8);
            size.took(rows, Duration::from_secs(10) * rows as u32);
        }
        assert_eq!(size.rows(8), 1);
    }

    #[test]
    fn a_function_that_ends_its_process_gets_smaller_batches() {
        let size = BatchSize::default();
        size.ended(FIRST_ROWS);
        assert_eq!(size.rows(8), FIRST_ROWS / 2);
        size.ended(1);
        assert_eq!(size.rows(8), 1);
    }

    #[test]
    fn a_call_with_large_rows_has_few_of_them() {
        let size = BatchSize::default();
        for _ in 0..20 {
            size.took(size.rows(8), Duration::ZERO);
        }
        assert_eq!(size.rows(4 << 20), 4);
        assert_eq!(size.rows(1 << 30), 1);
    }
}
