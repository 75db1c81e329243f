//! What evaluating expressions takes: over how many rows at once, and how many bytes.
//!
//! Lance evaluates an expression over a batch of rows, on several threads at the same time, and allocates outside
//! of any budget. How many bytes an expression makes of a row is known before ([`expression`](super::expression)).
//! A scan whose batch would take too much gets smaller batches. A change reads batches of Lance's own length.

use arrow::datatypes::DataType;
use lance::Dataset;
use lance_core::datatypes::Field;
use lance_core::utils::tokio::get_num_compute_intensive_cpus;

use super::expression::{Expression, Size};

/// Rows of Lance's batches.
const ROWS: u64 = 8_192;
/// Bytes that the values of a scan's batch may take where smaller batches help.
const BATCH: u64 = 4 << 20;
/// What files hold is packed.
const UNPACKED: u64 = 4;

/// What expressions take while they are evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Evaluation {
    /// Rows of a batch.
    pub rows: usize,
    /// Bytes of what the threads make of their batches.
    pub bytes: usize,
    /// The same if files hold the rows as they are, without any compression: it can't be less.
    pub least_bytes: usize,
}

impl Evaluation {
    /// In a scan, with batches that suit. `None` where nothing but numbers, dates and booleans is made.
    pub fn of_scan(dataset: &Dataset, expressions: &[Expression]) -> Option<Self> {
        Self::of(dataset, expressions, |row| (BATCH / row).clamp(1, ROWS))
    }

    /// In a change of rows, with Lance's batches.
    pub fn of_change(dataset: &Dataset, expressions: &[Expression]) -> Option<Self> {
        Self::of(dataset, expressions, |_| ROWS)
    }

    /// `rows`: how many rows a batch has, of the bytes that are made of one.
    fn of(
        dataset: &Dataset,
        expressions: &[Expression],
        rows: impl FnOnce(u64) -> u64,
    ) -> Option<Self> {
        let sizes = expressions.iter().map(Expression::peak);
        let size = sizes.fold(Size::default(), Size::plus);
        if size == Size::default() {
            return None;
        }
        let read = Read::of(dataset, expressions);
        let made = |row: u64| size.fixed.saturating_add(size.factor.saturating_mul(row));
        let row = made(read.bytes.saturating_mul(UNPACKED)).max(1);
        let rows = rows(row).min(read.rows).max(1);
        let threads = get_num_compute_intensive_cpus() as u64;
        let bytes = |row: u64| {
            let all = rows.saturating_mul(row).saturating_mul(threads);
            usize::try_from(all).unwrap_or(usize::MAX)
        };
        Some(Self {
            rows: usize::try_from(rows).unwrap_or(usize::MAX),
            bytes: bytes(row),
            least_bytes: bytes(made(read.bytes)),
        })
    }
}

/// What is read for expressions.
struct Read {
    /// Rows of the version.
    rows: u64,
    /// Bytes of their columns in one row, as files hold them, on average.
    bytes: u64,
}

impl Read {
    fn of(dataset: &Dataset, expressions: &[Expression]) -> Self {
        let fields = &dataset.schema().fields;
        let named = |name: &str| {
            let mut fields = fields.iter();
            fields.find(|field| field.name.eq_ignore_ascii_case(name))
        };
        let mut names = expressions.iter().flat_map(Expression::columns);
        // `source.name` of a merge names no column: it may be any of them.
        let are_known = names.all(|name| named(name).is_some());
        let is_read = |field: &Field| {
            let mut names = expressions.iter().flat_map(Expression::columns);
            !are_known || names.any(|name| field.name.eq_ignore_ascii_case(name))
        };
        let read = || fields.iter().filter(|field| is_read(field));
        let (rows, stored) = stored(dataset);
        let fixed: u64 = read().filter_map(width).sum();
        // Vectors are hardly packed. How the rest is shared out among the other columns is not in the manifest.
        let is_vector = |field: &&Field| matches!(field.data_type(), DataType::FixedSizeList(..));
        let vectors: u64 = fields.iter().filter(is_vector).filter_map(width).sum();
        let others = match read().all(|field| width(field).is_some()) {
            true => 0,
            false => (stored / rows.max(1)).saturating_sub(vectors),
        };
        Self {
            rows,
            bytes: fixed + others,
        }
    }
}

/// Rows of a version, deleted ones too, and the bytes of its files as far as they are known.
fn stored(dataset: &Dataset) -> (u64, u64) {
    let mut sums = (0, 0);
    for fragment in dataset.manifest().fragments.iter() {
        sums.0 += fragment.physical_rows.unwrap_or(0) as u64;
        let sizes = fragment.files.iter().map(|file| file.file_size_bytes.get());
        sums.1 += sizes.flatten().map(std::num::NonZero::get).sum::<u64>();
    }
    sums
}

/// Bytes of each value of a column whose values have all the same.
fn width(field: &Field) -> Option<u64> {
    fn of(data_type: &DataType) -> Option<u64> {
        match data_type {
            DataType::Boolean => Some(1),
            DataType::FixedSizeBinary(bytes) => u64::try_from(*bytes).ok(),
            DataType::FixedSizeList(item, length) => {
                Some(of(item.data_type())? * u64::try_from(*length).ok()?)
            }
            other => other.primitive_width().map(|width| width as u64),
        }
    }
    of(&field.data_type())
}

#[cfg(test)]
#[path = "evaluation_tests.rs"]
mod tests;
