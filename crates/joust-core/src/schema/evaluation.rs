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
/// Growth that counts as little beside the rows that are read anyhow.
const MODEST: u64 = 8;
/// Bytes of a row that are taken for its texts and lists where it has blobs, whose size is not known.
const BESIDE_BLOBS: u64 = 16 << 10;

/// What expressions take while they are evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Evaluation {
    /// Rows of a batch.
    pub rows: usize,
    /// Rows of all batches that are evaluated at the same time.
    pub in_flight: usize,
    /// Bytes of what is made of these rows: an estimate, and rather too much.
    pub bytes: usize,
    /// The same, and rather too little: only what expressions surely add, and texts that repeat more than a few
    /// times.
    pub least_bytes: usize,
}

/// The rows of an evaluation.
struct Rows {
    /// How many a batch has.
    batch: Batch,
    /// How many there are in all, at most.
    most: u64,
    /// Bytes of what stands beside a row of the table, such as the row that it is merged with.
    beside: u64,
}

enum Batch {
    /// Lance's number.
    Fixed,
    /// As many as suit, up to a number.
    Suited(u64),
}

impl Evaluation {
    /// For a scan: chooses how many rows a batch has. `None` where nothing but numbers, dates and booleans is made.
    pub fn of_scan(dataset: &Dataset, expressions: &[Expression]) -> Option<Self> {
        Self::of_columns(dataset, expressions, ROWS as usize)
    }

    /// For new columns, with at most so many rows in a batch.
    pub fn of_columns(
        dataset: &Dataset,
        expressions: &[Expression],
        longest: usize,
    ) -> Option<Self> {
        let rows = Rows {
            batch: Batch::Suited(longest as u64),
            most: u64::MAX,
            beside: 0,
        };
        Self::of(dataset, expressions, &rows)
    }

    /// For a change of at most `most` rows. `beside`: bytes of the row that each is merged with.
    pub fn of_change(
        dataset: &Dataset,
        expressions: &[Expression],
        most: u64,
        beside: u64,
    ) -> Option<Self> {
        let rows = Rows {
            batch: Batch::Fixed,
            most,
            beside,
        };
        Self::of(dataset, expressions, &rows)
    }

    /// Of both, which are there at the same time.
    pub fn and(self, other: Option<Self>) -> Self {
        let Some(other) = other else {
            return self;
        };
        Self {
            rows: self.rows.min(other.rows),
            in_flight: self.in_flight.max(other.in_flight),
            bytes: self.bytes.saturating_add(other.bytes),
            least_bytes: self.least_bytes.saturating_add(other.least_bytes),
        }
    }

    fn of(dataset: &Dataset, expressions: &[Expression], rows: &Rows) -> Option<Self> {
        let sizes = expressions.iter().map(Expression::peak);
        let size = sizes.fold(Size::default(), Size::plus);
        if size == Size::default() {
            return None;
        }
        let read = Read::of(dataset, expressions);
        let made = |factor: u64, row: u64| {
            let row = row.saturating_add(rows.beside);
            size.fixed.saturating_add(factor.saturating_mul(row))
        };
        let row = made(size.factor, read.bytes.saturating_mul(UNPACKED)).max(1);
        let batch = match rows.batch {
            Batch::Fixed => ROWS,
            Batch::Suited(longest) => (BATCH / row).clamp(fewest(size), longest),
        };
        let threads = get_num_compute_intensive_cpus() as u64;
        let in_flight = batch.saturating_mul(threads).min(read.rows).min(rows.most);
        let sure = if size.factor > MODEST { size.factor } else { 0 };
        let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        Some(Self {
            rows: number(batch.min(read.rows).max(1)),
            in_flight: number(in_flight),
            bytes: number(in_flight.saturating_mul(row)),
            least_bytes: number(in_flight.saturating_mul(made(sure, read.least))),
        })
    }
}

/// Shorter batches than that would cost more than what they make.
fn fewest(size: Size) -> u64 {
    match size.factor {
        _ if size.fixed > 1 << 10 => 1,
        0 | 1 => 256,
        2..=MODEST => 64,
        _ => 1,
    }
}

/// What is read for expressions.
struct Read {
    /// Rows of the version.
    rows: u64,
    /// Bytes of their columns in one row, as files hold them: the whole row's, where one of them is a text or list.
    bytes: u64,
    /// The same, with an equal part of the row for each column that is a text or list.
    least: u64,
}

impl Read {
    fn of(dataset: &Dataset, expressions: &[Expression]) -> Self {
        let fields = &dataset.schema().fields;
        let is_named = |field: &Field| {
            let mut names = expressions.iter().flat_map(Expression::columns);
            names.any(|name| field.name.eq_ignore_ascii_case(name))
        };
        let mut names = expressions.iter().flat_map(Expression::columns);
        // `source.name` of a merge names no column: it may be any of them.
        let are_known = names.all(|name| {
            let mut fields = fields.iter();
            fields.any(|field| field.name.eq_ignore_ascii_case(name))
        });
        let is_read = |field: &Field| !are_known || is_named(field);
        let (rows, row) = stored(dataset);
        let fixed: u64 = fields
            .iter()
            .filter(|field| is_read(field))
            .filter_map(width)
            .sum();
        // Vectors are hardly packed. How the rest is shared out among the other columns is not in the manifest.
        let is_vector = |field: &&Field| matches!(field.data_type(), DataType::FixedSizeList(..));
        let vectors: u64 = fields.iter().filter(is_vector).filter_map(width).sum();
        let others = row.saturating_sub(vectors);
        let varying: Vec<&Field> = fields
            .iter()
            .filter(|field| width(field).is_none())
            .collect();
        let read = varying.iter().filter(|field| is_read(field)).count() as u64;
        let has_blobs = varying.iter().any(|field| field.is_blob());
        let others = match (read, has_blobs) {
            (0, _) => 0,
            (_, true) => others.min(BESIDE_BLOBS),
            (_, false) => others,
        };
        let least = match has_blobs {
            true => 0,
            false => others / (varying.len() as u64).max(1) * read,
        };
        Self {
            rows,
            bytes: fixed + others,
            least: fixed + least,
        }
    }
}

/// Rows of a version, deleted ones too, and the bytes of each in the fragment where they are largest, as far as
/// these are known.
fn stored(dataset: &Dataset) -> (u64, u64) {
    let (mut rows, mut row) = (0, 0);
    for fragment in dataset.manifest().fragments.iter() {
        let own = fragment.physical_rows.unwrap_or(0) as u64;
        let sizes = fragment.files.iter().map(|file| file.file_size_bytes.get());
        let bytes: u64 = sizes.flatten().map(std::num::NonZero::get).sum();
        rows += own;
        row = row.max(bytes / own.max(1));
    }
    (rows, row)
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
