//! The resources for evaluating expressions: rows per batch, and bytes.
//!
//! Nothing interrupts the evaluation of a batch, and a thread that evaluates one runs no other query. So a scan also gets
//! smaller batches if an expression has many calls of functions.
//!
//! Lance evaluates an expression over a batch of rows, on several threads concurrently, and allocates outside of any
//! budget. The bytes that an expression computes for a row are known in advance ([`expression`](super::expression)). A
//! scan whose batch would need too much gets smaller batches. A change uses batches of Lance's default length.

use arrow::datatypes::DataType;
use lance::Dataset;
use lance_core::datatypes::Field;
use lance_core::utils::tokio::get_num_compute_intensive_cpus;

use super::expression::{Expression, Size};

/// Rows of Lance's batches.
const ROWS: u64 = 8_192;
/// The most bytes of values in a scan's batch, if smaller batches help.
const BATCH: u64 = 4 << 20;
/// The most calls of functions for a batch: about 30 ms for slow functions.
const CALLS: u64 = 64 << 10;
/// Fewer rows make a batch slower than its calls.
const FEWEST_CALLED: u64 = 64;
/// Memory for each byte of a compressed file.
const UNPACKED: u64 = 4;
/// Growth that is negligible beside the rows that are read anyway.
const MODEST: u64 = 8;
/// Assumed bytes of a row's texts and lists if it has blobs, whose size is unknown.
const BESIDE_BLOBS: u64 = 16 << 10;

/// Whether a batch of a change takes so long that queries on the same thread notice. Nothing interrupts the evaluation
/// of a batch, and Lance chooses its length. Invalid expressions count as none: the change reports them.
pub fn takes_long<'a>(expressions: impl IntoIterator<Item = &'a str>) -> bool {
    let calls = |sql| Expression::new(sql).map_or(0, |valid| valid.calls());
    let calls: u64 = expressions.into_iter().map(calls).sum();
    calls.saturating_mul(ROWS) > CALLS
}

/// The resources of expressions during evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Evaluation {
    /// Rows of a batch.
    pub rows: usize,
    /// Rows of all batches that are evaluated concurrently.
    pub in_flight: usize,
    /// Bytes of the results for these rows: an upper estimate.
    pub bytes: usize,
    /// The same as a lower estimate: only what expressions certainly add, and texts that repeat more than a few times.
    pub least_bytes: usize,
}

/// The rows of an evaluation.
struct Rows {
    /// The size of a batch.
    batch: Batch,
    /// The most rows in total.
    most: u64,
    /// Bytes beside a row of the table, such as the row with which it is merged.
    beside: u64,
}

enum Batch {
    /// Lance's default.
    Fixed,
    /// Any suitable number up to this one.
    Suited(u64),
}

impl Evaluation {
    /// For a scan: chooses the number of rows per batch. `None` if the results are only numbers, dates and booleans, and
    /// take no long time.
    pub fn of_scan(dataset: &Dataset, expressions: &[Expression]) -> Option<Self> {
        Self::of_columns(dataset, expressions, ROWS as usize)
    }

    /// For new columns, with at most this many rows per batch.
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

    /// For a change of at most `most` rows. `beside`: bytes of the row with which each is merged.
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

    /// The sum of two evaluations that are in memory together.
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
        let calls: u64 = expressions.iter().map(Expression::calls).sum();
        let called = (CALLS / calls.max(1)).max(FEWEST_CALLED);
        let is_long = matches!(rows.batch, Batch::Suited(longest) if called < longest);
        if size == Size::default() && !is_long {
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
            Batch::Suited(longest) => (BATCH / row).clamp(fewest(size), longest).min(called),
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

/// The minimum of rows per batch: shorter batches would cost more than their results.
fn fewest(size: Size) -> u64 {
    match size.factor {
        _ if size.fixed > 1 << 10 => 1,
        0 | 1 => 256,
        2..=MODEST => 64,
        _ => 1,
    }
}

/// The data that expressions read.
struct Read {
    /// Rows of the version.
    rows: u64,
    /// Stored bytes of their columns per row: of the whole row if one of them is a text or list.
    bytes: u64,
    /// The same, with an equal share of the row for each column that is a text or list.
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
        // `source.name` of a merge is not a column of the table, so it counts as any of them.
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
        // Vectors hardly compress. The manifest does not have the sizes of the other columns.
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

/// Rows of a version, including deleted ones, and the bytes of each in the fragment with the largest rows, as far as
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

/// The fixed width of a column's values in bytes.
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
