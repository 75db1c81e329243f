//! Sorted lookup: rows by the values of a column.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::buffer::ScalarBuffer;
use arrow::compute::{SortOptions, cast, sort_to_indices};
use arrow::datatypes::{DataType, Int64Type};
use lance::Dataset;
use lance_core::datatypes::Field;

use super::decoded_columns::Reading;
use super::row_caches::RowCaches;
use crate::error::Result;
use crate::schema::predicate::Value;

/// A lookup searches each fragment for each value: with more fragments an index is faster.
const MOST_FRAGMENTS: usize = 64;
/// A scan returns more rows faster.
const MOST_ROWS: usize = 10_000;

/// The rows of a fragment in the order of their values.
pub struct SortedLookup {
    /// Their offsets; `None` when the values are in order as they are, as ids mostly are.
    offsets: Option<Vec<u32>>,
    values: Values,
}

enum Values {
    /// In order.
    Integers(ScalarBuffer<i64>),
    /// In the fragment's order; the offsets sort them.
    Texts(ArrayRef),
}

/// Whether rows can be looked up by a column, and the column can have the value.
pub fn can_have(field: &Field, value: &Value) -> bool {
    match (field.data_type(), value) {
        (DataType::Int8, Value::Integer(value)) => i8::try_from(*value).is_ok(),
        (DataType::Int16, Value::Integer(value)) => i16::try_from(*value).is_ok(),
        (DataType::Int32, Value::Integer(value)) => i32::try_from(*value).is_ok(),
        (DataType::UInt8, Value::Integer(value)) => u8::try_from(*value).is_ok(),
        (DataType::UInt16, Value::Integer(value)) => u16::try_from(*value).is_ok(),
        (DataType::UInt32, Value::Integer(value)) => u32::try_from(*value).is_ok(),
        (DataType::Int64, Value::Integer(_)) => true,
        (DataType::Utf8 | DataType::LargeUtf8, Value::Text(_)) => true,
        _ => false,
    }
}

/// Whether rows of so many fragments are looked up by a column.
pub fn can_look_up(field: &Field, fragments: usize) -> bool {
    let has_any = |value| can_have(field, &value);
    fragments <= MOST_FRAGMENTS
        && (has_any(Value::Integer(0)) || has_any(Value::Text(String::new())))
}

/// The ids of the live rows whose column has one of some values, in the table's order. `None`: the
/// column is not in memory, or there are too many.
pub async fn rows_with(
    dataset: &Arc<Dataset>,
    field: &Field,
    values: &[Value],
    caches: &RowCaches,
) -> Result<Option<Vec<u64>>> {
    if dataset.manifest().fragments.len() > MOST_FRAGMENTS {
        return Ok(None);
    }
    let reading = Reading::Rows(values.len());
    let Some(column) = caches.decoded.column(dataset, field, reading).await? else {
        return Ok(None);
    };
    if !caches.sorted_lookups_fit(&column) {
        return Ok(None);
    }
    let live = caches.row_liveness(dataset).await?;
    let mut rows = Vec::with_capacity(values.len());
    for (fragment, column) in live.fragments().iter().zip(&column.fragments) {
        let lookup = caches.sorted_lookup(column).await?;
        let mut offsets: Vec<u32> = values
            .iter()
            .flat_map(|value| lookup.1.find(value))
            .collect();
        // A value may be given twice.
        offsets.sort_unstable();
        offsets.dedup();
        let alive = offsets.into_iter().map(|offset| offset as usize);
        let alive = alive.filter(|offset| fragment.is_alive(*offset));
        rows.extend(alive.map(|offset| fragment.row_id(offset)));
        if rows.len() > MOST_ROWS {
            return Ok(None);
        }
    }
    Ok(Some(rows))
}

impl SortedLookup {
    pub fn of(column: &ArrayRef) -> Result<Self> {
        if let Some(integers) = in_order(column) {
            return Ok(Self {
                offsets: None,
                values: Values::Integers(integers.values().clone()),
            });
        }
        let order = sort_to_indices(column, Some(SortOptions::new(false, false)), None)?;
        let valid = column.len() - column.null_count();
        let offsets = order.values()[..valid].to_vec();
        let values = if is_text(column) {
            Values::Texts(column.clone())
        } else {
            let integers = cast(column, &DataType::Int64)?;
            let integers = integers.as_primitive::<Int64Type>().values();
            let sorted = offsets.iter().map(|offset| integers[*offset as usize]);
            Values::Integers(sorted.collect())
        };
        Ok(Self {
            offsets: Some(offsets),
            values,
        })
    }

    /// The offsets of the rows with a value.
    fn find(&self, value: &Value) -> impl Iterator<Item = u32> {
        let range = match (&self.values, value) {
            (Values::Integers(own), Value::Integer(value)) => {
                let end = value.checked_add(1);
                first_from(own, *value)..end.map_or(own.len(), |end| first_from(own, end))
            }
            (Values::Texts(own), Value::Text(value)) => {
                let offsets = self.offsets.as_deref().unwrap_or_default();
                let order = |offset: &u32| text(own, *offset).cmp(value.as_str());
                let start = offsets.partition_point(|own| order(own) == Ordering::Less);
                let equal = offsets[start..].partition_point(|own| order(own).is_eq());
                start..start + equal
            }
            _ => 0..0,
        };
        range.map(|place| match &self.offsets {
            Some(offsets) => offsets[place],
            None => place as u32,
        })
    }

    /// Bytes that this takes besides the column.
    pub fn weight(&self, column: &ArrayRef) -> usize {
        match self.offsets {
            None => 0,
            Some(_) => Self::most(column),
        }
    }

    /// The same for a lookup that is not built yet.
    pub fn weight_of(column: &ArrayRef) -> usize {
        match in_order(column) {
            Some(_) => 0,
            None => Self::most(column),
        }
    }

    /// Most bytes of a lookup, without reading the values.
    pub fn most(column: &ArrayRef) -> usize {
        match is_text(column) {
            true => column.len() * 4 + column.get_array_memory_size(),
            false => column.len() * 12,
        }
    }
}

fn is_text(column: &ArrayRef) -> bool {
    matches!(column.data_type(), DataType::Utf8 | DataType::LargeUtf8)
}

/// Values that need no sorting.
fn in_order(column: &ArrayRef) -> Option<&Int64Array> {
    let integers = column.as_primitive_opt::<Int64Type>()?;
    (integers.null_count() == 0 && integers.values().is_sorted()).then_some(integers)
}

/// The position of the first of some sorted values that is not less than the given one. The search begins where
/// the value would be if they were spread evenly, as ids mostly are: a binary search would cause a dozen cache
/// misses.
fn first_from(sorted: &[i64], value: i64) -> usize {
    let (Some(&least), Some(&most)) = (sorted.first(), sorted.last()) else {
        return 0;
    };
    if value <= least {
        return 0;
    }
    if value > most {
        return sorted.len();
    }
    let share = (value as f64 - least as f64) / (most as f64 - least as f64);
    let guess = ((sorted.len() - 1) as f64 * share) as usize;
    let is_less = |own: &i64| *own < value;
    // Twice as far with each step: the first from `from` on is not after `to`.
    let (mut from, mut to, mut step) = (guess, guess, 1);
    while from > 0 && !is_less(&sorted[from - 1]) {
        to = from - 1;
        from = from.saturating_sub(step);
        step *= 2;
    }
    while to < sorted.len() && is_less(&sorted[to]) {
        from = to + 1;
        to = sorted.len().min(to + step);
        step *= 2;
    }
    from + sorted[from..to].partition_point(is_less)
}

fn text(texts: &ArrayRef, offset: u32) -> &str {
    match texts.as_string_opt::<i32>() {
        Some(texts) => texts.value(offset as usize),
        None => texts.as_string::<i64>().value(offset as usize),
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int32Array, LargeStringArray};
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_row_of_a_value_is_found() {
        let column: ArrayRef = Arc::new(Int32Array::from(vec![
            Some(5),
            None,
            Some(-1),
            Some(5),
            Some(0),
        ]));
        let keys = SortedLookup::of(&column).unwrap();
        let find = |value| {
            let mut found: Vec<u32> = keys.find(&Value::Integer(value)).collect();
            found.sort_unstable();
            found
        };
        assert_eq!(find(5), [0, 3]);
        assert_eq!(find(-1), [2]);
        assert_eq!(find(7), [0_u32; 0]);
    }

    #[test]
    fn values_in_order_need_no_memory() {
        let weights = |column: ArrayRef| {
            let known = SortedLookup::of(&column).unwrap().weight(&column);
            (
                known,
                SortedLookup::weight_of(&column),
                SortedLookup::most(&column),
            )
        };
        let integers = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
        let ordered = integers(vec![i64::MIN, 1, 1, 2, i64::MAX]);
        assert_eq!(weights(ordered.clone()), (0, 0, 60));
        assert_eq!(weights(integers(vec![2, 1])), (24, 24, 24));
        let with_null: ArrayRef = Arc::new(Int64Array::from(vec![None, Some(1)]));
        assert_eq!(weights(with_null), (24, 24, 24));

        let keys = SortedLookup::of(&ordered).unwrap();
        let find = |value| keys.find(&Value::Integer(value)).collect::<Vec<_>>();
        assert_eq!(find(1), [1, 2]);
        assert_eq!((find(i64::MIN), find(i64::MAX)), (vec![0], vec![4]));
        assert!(find(3).is_empty());
    }

    proptest! {
        #[test]
        fn a_position_is_the_one_that_binary_search_finds(
            mut values in prop_oneof![
                vec(any::<i64>(), 0..200),
                vec(-20..20_i64, 0..200),
                (0..200_i64).prop_map(|rows| (0..rows).collect()),
            ],
            other in prop_oneof![any::<i64>(), -21..220_i64],
        ) {
            values.sort_unstable();
            for value in values.iter().copied().chain([other]) {
                let expected = values.partition_point(|own| *own < value);
                prop_assert_eq!(first_from(&values, value), expected);
            }
        }
    }

    #[test]
    fn texts_are_found_by_their_whole_value() {
        let column: ArrayRef = Arc::new(LargeStringArray::from(vec![
            Some("b"),
            Some("ab"),
            None,
            Some("a"),
        ]));
        let keys = SortedLookup::of(&column).unwrap();
        let find = |value: &str| keys.find(&Value::Text(value.into())).collect::<Vec<_>>();
        assert_eq!(find("a"), [3]);
        assert_eq!(find("ab"), [1]);
        assert!(find("").is_empty());
    }
}
