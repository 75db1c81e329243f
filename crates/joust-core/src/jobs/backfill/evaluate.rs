//! Values of a computed column, batch by batch.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanArray, RecordBatch, UInt32Array, make_comparator, new_null_array,
};
use arrow::compute::{
    CastOptions, SortOptions, cast_with_options, concat, interleave, take, take_record_batch,
};
use arrow::datatypes::DataType;
use datafusion::physical_plan::PhysicalExpr;
use serde::{Deserialize, Serialize};

use super::binding::{Binding, Computation};
use crate::error::{Error, Result};
use crate::functions::{FunctionRun, Functions};
use crate::jobs::row_failures::{MOST_FAILURES, RowFailure};

/// Counts of the computed rows.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Rows with a computed value that differs from their previous one.
    pub assigned: u64,
    pub failed: u64,
    /// Rows whose value changed: those assigned, and failed ones that had a value.
    pub changed: u64,
    pub failures: Vec<RowFailure>,
}

impl Tally {
    pub fn add(&mut self, other: Self) {
        self.assigned += other.assigned;
        self.failed += other.failed;
        self.changed += other.changed;
        let room = MOST_FAILURES.saturating_sub(self.failures.len());
        self.failures.extend(other.failures.into_iter().take(room));
    }

    /// Counts this many rows, some of which failed.
    fn count(&mut self, changes: &dyn Fn(usize) -> bool, rows: usize, failed: &[usize]) {
        let changed = (0..rows).filter(|at| changes(*at)).count();
        let lost = failed.iter().filter(|at| changes(**at)).count();
        self.changed += changed as u64;
        self.assigned += (changed - lost) as u64;
    }

    fn fail(&mut self, fragment: u64, offset: u64, message: String) {
        self.failed += 1;
        if self.failures.len() < MOST_FAILURES {
            self.failures.push(RowFailure {
                fragment,
                offset,
                message,
            });
        }
    }
}

/// Stored rows of a fragment, including deleted ones.
pub struct Rows<'a> {
    pub fragment: u64,
    /// Position of the first row.
    pub offset: u64,
    /// The binding's inputs.
    pub batch: &'a RecordBatch,
    /// The rows to compute. Deleted rows are not among them, because their computation could fail.
    pub selected: &'a BooleanArray,
}

impl Binding {
    /// The new values of all rows of the column: computed for the selected rows, unchanged for others.
    ///
    /// `run` calls the function of a virtual column.
    pub async fn fill(
        &self,
        rows: &Rows<'_>,
        run: Option<&Arc<FunctionRun>>,
        tally: &mut Tally,
    ) -> Result<ArrayRef> {
        let old = rows
            .batch
            .column_by_name(self.name())
            .ok_or_else(|| Error::invalid(format!("column `{}` is gone", self.name())))?;
        let meant = self.meant(rows).await?;
        let all = meant.len() == rows.batch.num_rows();
        let batch = match all {
            true => rows.batch.clone(),
            false => take_record_batch(rows.batch, &meant)?,
        };
        let (computed, failures) = match (&self.computation, run) {
            (Computation::Sql { expression, .. }, _) => self.computed(expression, &batch).await?,
            (Computation::Function(_), Some(run)) => {
                let done = run.compute(self.arguments.batch(&batch)?).await?;
                (done.values(&self.data_type)?, done.failures)
            }
            (Computation::Function(function), None) => {
                return Err(Functions::missing(
                    &format!("column `{}`", self.name()),
                    &function.name,
                ));
            }
        };
        let mut failed = Vec::with_capacity(failures.len());
        for (at, message) in failures {
            let offset = rows.offset + u64::from(meant.value(at));
            tally.fail(rows.fragment, offset, message);
            failed.push(at);
        }
        let held = match all {
            true => old.clone(),
            false => take(old, &meant, None)?,
        };
        tally.count(changes(&held, &computed).as_ref(), computed.len(), &failed);
        if !self.nullable && computed.null_count() > 0 {
            return Err(Error::invalid(format!(
                "column `{}` takes no nulls, and its computation gives some; make it nullable",
                self.name()
            )));
        }
        if all {
            return Ok(computed);
        }
        let mut from: Vec<(usize, usize)> = (0..rows.batch.num_rows()).map(|at| (0, at)).collect();
        for (at, position) in meant.values().iter().enumerate() {
            from[*position as usize] = (1, at);
        }
        Ok(interleave(&[old.as_ref(), computed.as_ref()], &from)?)
    }

    /// Positions of the selected rows for which the condition is true.
    async fn meant(&self, rows: &Rows<'_>) -> Result<UInt32Array> {
        let selected: UInt32Array = (0..rows.batch.num_rows() as u32)
            .filter(|at| rows.selected.value(*at as usize))
            .collect();
        let Some(condition) = self.condition.clone() else {
            return Ok(selected);
        };
        let batch = take_record_batch(rows.batch, &selected)?;
        let met = self.slices.evaluate(&batch, move |_, slice| {
            let met = evaluate(condition.as_ref(), slice).map_err(Error::of_input)?;
            let met = met.as_any().downcast_ref::<BooleanArray>().cloned();
            met.ok_or_else(|| Error::invalid("the condition is not true or false"))
        });
        let met = met.await?;
        let positions = selected.values().iter().zip(met.iter().flatten());
        Ok(positions
            .filter(|(_, met)| *met == Some(true))
            .map(|(position, _)| *position)
            .collect())
    }

    /// The values of the expression, and the positions and messages of the rows for which it fails.
    async fn computed(
        &self,
        expression: &Arc<dyn PhysicalExpr>,
        batch: &RecordBatch,
    ) -> Result<(ArrayRef, Vec<(usize, String)>)> {
        let (expression, data_type) = (expression.clone(), self.data_type.clone());
        let slices = self.slices.evaluate(batch, move |first, slice| {
            let mut failures = Vec::new();
            let values = bisected(expression.as_ref(), &data_type, slice, first, &mut failures)?;
            Ok((values, failures))
        });
        let (mut values, failures): (Vec<_>, Vec<_>) = slices.await?.into_iter().unzip();
        let values = match values.len() {
            1 => values.remove(0),
            _ => {
                let values: Vec<&dyn Array> = values.iter().map(AsRef::as_ref).collect();
                concat(&values)?
            }
        };
        Ok((values, failures.concat()))
    }
}

/// The values of the expression. If it fails, it is evaluated on smaller and smaller batches to isolate the failing row,
/// whose value becomes null. `first`: the position of the batch in the one that the caller has.
fn bisected(
    expression: &dyn PhysicalExpr,
    data_type: &DataType,
    batch: &RecordBatch,
    first: usize,
    failures: &mut Vec<(usize, String)>,
) -> Result<ArrayRef> {
    let count = batch.num_rows();
    match attempt(expression, data_type, batch) {
        Ok(values) => Ok(values),
        Err(error) if count <= 1 => {
            if count == 1 {
                failures.push((first, Error::of_input(error).message().to_string()));
            }
            Ok(new_null_array(data_type, count))
        }
        Err(_) => {
            let half = count / 2;
            let left = batch.slice(0, half);
            let left = bisected(expression, data_type, &left, first, failures)?;
            let right = batch.slice(half, count - half);
            let right = bisected(expression, data_type, &right, first + half, failures)?;
            Ok(concat(&[left.as_ref(), right.as_ref()])?)
        }
    }
}

fn attempt(
    expression: &dyn PhysicalExpr,
    data_type: &DataType,
    batch: &RecordBatch,
) -> Result<ArrayRef> {
    let values = evaluate(expression, batch)?;
    if values.data_type() == data_type {
        return Ok(values);
    }
    let strict = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    Ok(cast_with_options(&values, data_type, &strict)?)
}

/// Whether the value of a row changes.
fn changes<'a>(before: &'a ArrayRef, after: &'a ArrayRef) -> Box<dyn Fn(usize) -> bool + 'a> {
    match make_comparator(before, after, SortOptions::default()) {
        Ok(compare) => Box::new(move |at| compare(at, at) != Ordering::Equal),
        // A type without an order.
        Err(_) => Box::new(|at| before.slice(at, 1).as_ref() != after.slice(at, 1).as_ref()),
    }
}

fn evaluate(expr: &dyn PhysicalExpr, batch: &RecordBatch) -> Result<ArrayRef> {
    Ok(expr.evaluate(batch)?.into_array(batch.num_rows())?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Float64Array, Int64Array, ListArray, StringArray, StructArray};
    use arrow::datatypes::{DataType, Field, Int64Type};

    use super::*;

    fn changed(before: &ArrayRef, after: &ArrayRef) -> Vec<usize> {
        let changes = changes(before, after);
        (0..before.len()).filter(|at| changes(*at)).collect()
    }

    #[test]
    fn a_row_changes_when_its_value_is_another_one() {
        let before: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, None, Some(4)]));
        let after: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3), None]));
        assert_eq!(changed(&before, &after), [2, 3]);
        let before: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN, 1.0]));
        let after: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN, 1.5]));
        assert_eq!(changed(&before, &after), [1]);
    }

    #[test]
    fn nested_values_are_compared_as_a_whole() {
        let nested = |text: [&str; 2], lists: [Option<Vec<Option<i64>>>; 2]| -> ArrayRef {
            let texts: ArrayRef = Arc::new(StringArray::from(text.to_vec()));
            let lists: ArrayRef =
                Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists));
            let of = |name: &str, array: &ArrayRef| {
                Arc::new(Field::new(name, array.data_type().clone(), true))
            };
            let text: (Arc<Field>, ArrayRef) = (of("text", &texts), texts);
            let list = (of("list", &lists), lists);
            Arc::new(StructArray::from(vec![text, list]))
        };
        let list = |values: &[i64]| Some(values.iter().copied().map(Some).collect());
        let before = nested(["a", "b"], [list(&[1, 2]), list(&[3])]);
        let same = nested(["a", "b"], [list(&[1, 2]), list(&[3])]);
        assert_eq!(changed(&before, &same), [0; 0]);
        let other = nested(["a", "b"], [list(&[1]), list(&[3])]);
        assert_eq!(changed(&before, &other), [0]);
        let other = nested(["a", "c"], [list(&[1, 2]), None]);
        assert_eq!(changed(&before, &other), [1]);
        assert!(matches!(before.data_type(), DataType::Struct(_)));
    }
}
