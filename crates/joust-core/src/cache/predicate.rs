//! Evaluates predicates of plain comparisons on columns in memory.
//!
//! For a predicate that it has not seen Lance takes milliseconds: it parses and plans the SQL, and makes row ids of
//! all that the indexes of the columns find, before it reads the first row. Here columns in memory are compared
//! from the first row on, until there are enough rows.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, Int64Array, Scalar, StringArray};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{cast, kernels::cmp};
use arrow::datatypes::DataType;
use lance::Dataset;
use lance_core::datatypes::Field;
use lance_core::utils::tokio::spawn_cpu;

use super::column::Column;
use super::decoded_columns::Reading;
use super::row_caches::RowCaches;
use super::row_liveness::RowLiveness;
use super::sorted_lookup::can_have;
use crate::error::Result;
use crate::schema::predicate::{Comparison, Is, Operator, Value, comparisons};

/// Of more rows an index finds the matching ones faster.
const MOST_ROWS: usize = 4 << 20;
/// Most values that one column is compared with.
const MOST_VALUES: usize = 16;
/// Rows that are compared at once: few at first, as the first ones may be enough.
const CHUNKS: std::ops::Range<usize> = 1_024..16_384;
/// Rows that are compared in less time than a change of threads takes.
const INLINE: usize = 16_384;
/// A predicate counts as a reading of this share of its columns.
const SHARE: usize = 64;

/// A predicate over the rows of a version, evaluated from the first row on.
pub struct Evaluation {
    tests: Vec<Prepared>,
    live: Arc<RowLiveness>,
    /// Rows that are enough.
    reach: usize,
    /// The fragment and the offset to continue at.
    next: (usize, usize),
    chunk: usize,
    rows: Vec<u64>,
}

struct Prepared {
    column: Arc<Column>,
    test: Kind,
    values: Vec<Scalar<ArrayRef>>,
}

#[derive(Clone, Copy)]
enum Kind {
    OneOf,
    Compared(Operator),
}

impl Evaluation {
    /// `None`: Lance has to evaluate the predicate.
    pub async fn new(
        dataset: &Arc<Dataset>,
        condition: &str,
        reach: usize,
        caches: &RowCaches,
    ) -> Result<Option<Self>> {
        let fragments = dataset.manifest().fragments.iter();
        let rows: Option<usize> = fragments.map(|fragment| fragment.physical_rows).sum();
        let Some(rows) = rows.filter(|rows| *rows <= MOST_ROWS && caches.is_on()) else {
            return Ok(None);
        };
        let Some(tests) = comparisons(condition) else {
            return Ok(None);
        };
        let fields: Option<Vec<&Field>> = tests.iter().map(|test| field(dataset, test)).collect();
        let Some(fields) = fields else {
            return Ok(None);
        };
        let mut columns = Vec::with_capacity(tests.len());
        for field in fields {
            let reading = Reading::Rows(rows.div_ceil(SHARE));
            columns.push(caches.decoded.column(dataset, field, reading).await?);
        }
        let prepared = tests.iter().zip(columns).map(|(test, column)| {
            let Some(column) = column else {
                return Ok(None);
            };
            Prepared::new(test, column).map(Some)
        });
        let Some(tests) = prepared.collect::<Result<Option<Vec<_>>>>()? else {
            return Ok(None);
        };
        Ok(Some(Self {
            tests,
            live: caches.row_liveness(dataset).await?,
            reach,
            next: (0, 0),
            chunk: CHUNKS.start,
            rows: Vec::new(),
        }))
    }

    /// The ids of the first rows that satisfy the predicate, in the table's order, if they are among the very
    /// first rows of the table.
    pub fn first(&mut self) -> Result<Option<Vec<u64>>> {
        let done = self.run(INLINE)?;
        Ok(done.then(|| std::mem::take(&mut self.rows)))
    }

    /// The first rows that satisfy the predicate, or all when there are fewer.
    pub async fn all(mut self) -> Result<Vec<u64>> {
        if let Some(rows) = self.first()? {
            return Ok(rows);
        }
        spawn_cpu(move || {
            self.run(usize::MAX)?;
            Ok(self.rows)
        })
        .await
    }

    /// Continues for about so many rows; true when there are enough, or no more.
    fn run(&mut self, most: usize) -> Result<bool> {
        let mut seen = 0;
        while let Some(fragment) = self.live.fragments().get(self.next.0) {
            let (number, start) = self.next;
            if start >= fragment.rows {
                self.next = (number + 1, 0);
                continue;
            }
            if seen >= most {
                return Ok(false);
            }
            let length = self.chunk.min(fragment.rows - start);
            for offset in self.matching(number, start, length)?.set_indices() {
                if fragment.is_alive(start + offset) {
                    self.rows.push(fragment.row_id(start + offset));
                    if self.rows.len() >= self.reach {
                        return Ok(true);
                    }
                }
            }
            self.next.1 = start + length;
            self.chunk = (self.chunk * 2).min(CHUNKS.end);
            seen += length;
        }
        Ok(true)
    }

    /// Which rows of a part of a fragment satisfy all comparisons.
    fn matching(&self, fragment: usize, start: usize, length: usize) -> Result<BooleanBuffer> {
        let mut all = BooleanBuffer::new_set(length);
        for test in &self.tests {
            let values = test.column.fragments[fragment].slice(start, length);
            all = &all & &test.matching(&values)?;
            if all.count_set_bits() == 0 {
                break;
            }
        }
        Ok(all)
    }
}

impl Prepared {
    fn new(test: &Comparison, column: Arc<Column>) -> Result<Self> {
        let data_type = column.fragments.first().map(|own| own.data_type().clone());
        let data_type = data_type.unwrap_or(DataType::Int64);
        let values = test.is.values().iter();
        let values = values.map(|value| scalar(value, &data_type));
        Ok(Self {
            column,
            test: match &test.is {
                Is::OneOf(_) => Kind::OneOf,
                Is::Compared(comparison, _) => Kind::Compared(*comparison),
            },
            values: values.collect::<Result<_>>()?,
        })
    }

    fn matching(&self, column: &ArrayRef) -> Result<BooleanBuffer> {
        let compare = match self.test {
            Kind::OneOf => cmp::eq,
            Kind::Compared(Operator::Not) => cmp::neq,
            Kind::Compared(Operator::Less) => cmp::lt,
            Kind::Compared(Operator::AtMost) => cmp::lt_eq,
            Kind::Compared(Operator::More) => cmp::gt,
            Kind::Compared(Operator::AtLeast) => cmp::gt_eq,
        };
        let mut any: Option<BooleanBuffer> = None;
        for value in &self.values {
            let own = known(&compare(column, value)?);
            any = Some(match any {
                Some(any) => &any | &own,
                None => own,
            });
        }
        Ok(any.unwrap_or_else(|| BooleanBuffer::new_unset(column.len())))
    }
}

/// Null is not true.
fn known(compared: &BooleanArray) -> BooleanBuffer {
    match compared.nulls() {
        Some(nulls) => compared.values() & nulls.inner(),
        None => compared.values().clone(),
    }
}

/// The column of a comparison, if it can have all the values.
fn field<'a>(dataset: &'a Dataset, test: &Comparison) -> Option<&'a Field> {
    let mut fields = dataset.schema().fields.iter();
    let field = fields.find(|field| field.name == test.column)?;
    let values = test.is.values();
    let fits = values.len() <= MOST_VALUES && values.iter().all(|value| can_have(field, value));
    fits.then_some(field)
}

fn scalar(value: &Value, data_type: &DataType) -> Result<Scalar<ArrayRef>> {
    let array: ArrayRef = match value {
        Value::Integer(value) => Arc::new(Int64Array::from(vec![*value])),
        Value::Text(value) => Arc::new(StringArray::from(vec![value.as_str()])),
    };
    Ok(Scalar::new(cast(&array, data_type)?))
}
