//! Evaluates SQL expressions on slices of a batch.
//!
//! DataFusion evaluates an expression on a whole batch, without a pause. A slow expression takes seconds for a batch. A
//! thread of the async runtime would serve no query in this time, and a cancelled job would compute until its end. So
//! Lance's threads for computation evaluate it, on slices that take a fraction of a second.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use lance_core::utils::tokio::spawn_cpu;

use crate::error::{Error, Result};

/// Rows of the first slice.
const FIRST: usize = 64;
/// The time that the evaluation of a slice should take.
const GOAL: Duration = Duration::from_millis(20);
/// A slice has at most this many times the rows of the one before.
const MOST_GROWTH: usize = 8;

/// The number of rows that expressions evaluate in about 20 ms. The slices of all fragments share it.
pub struct Slices {
    rows: AtomicUsize,
}

impl Default for Slices {
    fn default() -> Self {
        Self {
            rows: AtomicUsize::new(FIRST),
        }
    }
}

impl Slices {
    /// Evaluates one slice of the batch after the other. `evaluate` gets the position of the slice's first row. If the
    /// future is dropped, no further slice is evaluated.
    pub async fn evaluate<T: Send + 'static>(
        &self,
        batch: &RecordBatch,
        evaluate: impl Fn(usize, &RecordBatch) -> Result<T> + Clone + Send + 'static,
    ) -> Result<Vec<T>> {
        let mut results = Vec::new();
        let mut first = 0;
        loop {
            let length = self.rows.load(Ordering::Relaxed);
            let length = length.min(batch.num_rows() - first);
            let slice = batch.slice(first, length);
            let evaluate = evaluate.clone();
            let (result, elapsed) = spawn_cpu(move || {
                let begun = Instant::now();
                let result = evaluate(first, &slice)?;
                Ok::<_, Error>((result, begun.elapsed()))
            })
            .await?;
            results.push(result);
            first += length;
            self.adapt(length, elapsed);
            if first == batch.num_rows() {
                return Ok(results);
            }
        }
    }

    /// Chooses the rows of the next slice after one of this length took this time.
    fn adapt(&self, length: usize, elapsed: Duration) {
        let fit = length as u128 * GOAL.as_nanos() / elapsed.as_nanos().max(1);
        let before = self.rows.load(Ordering::Relaxed);
        let fit = usize::try_from(fit).unwrap_or(usize::MAX);
        let fit = fit.clamp(1, length.max(1).saturating_mul(MOST_GROWTH));
        // The last slice of a batch is short: it does not show that fewer rows fit.
        if length >= before || fit > before || elapsed > GOAL {
            self.rows.store(fit, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{AsArray, Int64Array, RecordBatch};
    use arrow::datatypes::{DataType, Field, Int64Type, Schema};
    use parking_lot::Mutex;

    use super::*;

    fn numbers(count: i64) -> RecordBatch {
        let schema = Schema::new(vec![Field::new("number", DataType::Int64, false)]);
        let numbers = Arc::new(Int64Array::from_iter_values(0..count));
        RecordBatch::try_new(Arc::new(schema), vec![numbers]).unwrap()
    }

    #[tokio::test]
    async fn slices_have_all_rows_in_order_and_know_their_position() {
        for count in [0, 1, 63, 64, 65, 10_000] {
            let (slices, batch) = (Slices::default(), numbers(count));
            let evaluated = slices.evaluate(&batch, |first, slice| {
                let column = slice.column(0).as_primitive::<Int64Type>();
                let numbers = column.values().to_vec();
                assert!(numbers.first().is_none_or(|number| *number == first as i64));
                Ok(numbers)
            });
            let numbers: Vec<i64> = evaluated.await.unwrap().concat();
            assert_eq!(numbers, (0..count).collect::<Vec<_>>());
        }
    }

    #[tokio::test]
    async fn an_error_ends_the_evaluation() {
        let (slices, batch) = (Slices::default(), numbers(10_000));
        let evaluated = slices.evaluate(&batch, |first, _| match first {
            0 => Ok(()),
            _ => Err(Error::invalid("no")),
        });
        assert_eq!(evaluated.await.unwrap_err().message(), "no");
    }

    #[tokio::test]
    async fn no_slice_follows_when_the_work_is_dropped() {
        let slices = Slices::default();
        let lengths = Arc::new(Mutex::new(Vec::new()));
        let numbers = numbers(100_000);
        let evaluated = slices.evaluate(&numbers, {
            let lengths = lengths.clone();
            move |_, slice| {
                lengths.lock().push(slice.num_rows());
                std::thread::sleep(Duration::from_millis(50));
                Ok(())
            }
        });
        let limit = Duration::from_millis(200);
        tokio::time::timeout(limit, evaluated).await.unwrap_err();
        tokio::time::sleep(limit).await;
        let begun = lengths.lock().len();
        tokio::time::sleep(limit).await;
        assert_eq!(lengths.lock().len(), begun);
        assert!(lengths.lock().iter().sum::<usize>() < 100_000);
    }

    #[test]
    fn slices_grow_and_shrink_with_the_speed() {
        let slices = Slices::default();
        let rows = || slices.rows.load(Ordering::Relaxed);
        slices.adapt(64, Duration::from_micros(1));
        assert_eq!(rows(), 512);
        slices.adapt(512, Duration::from_millis(40));
        assert_eq!(rows(), 256);
        slices.adapt(10, Duration::from_millis(1));
        assert_eq!(rows(), 256, "the end of a batch");
        slices.adapt(10, Duration::from_secs(1));
        assert_eq!(rows(), 1);
        slices.adapt(0, Duration::ZERO);
        assert!(rows() >= 1);
    }
}
