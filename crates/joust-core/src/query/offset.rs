//! The offset of a query with several vectors, which counts for each of them.

use std::collections::HashMap;

use arrow::array::{AsArray, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::Int32Type;

use super::output::QUERY_INDEX;
use crate::error::Result;

/// Drops the nearest rows of each query vector.
pub struct SkipPerQuery {
    offset: u64,
    seen: HashMap<i32, u64>,
}

impl SkipPerQuery {
    pub fn new(offset: u64) -> Self {
        Self {
            offset,
            seen: HashMap::new(),
        }
    }

    /// The rows of the next batch that are not skipped.
    pub fn apply(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let index = batch
            .column_by_name(QUERY_INDEX)
            .and_then(|column| column.as_primitive_opt::<Int32Type>());
        let Some(index) = index else {
            return Ok(batch.clone());
        };
        let keep: BooleanArray = index
            .values()
            .iter()
            .map(|query| {
                let seen = self.seen.entry(*query).or_default();
                *seen += 1;
                Some(*seen > self.offset)
            })
            .collect();
        Ok(filter_record_batch(batch, &keep)?)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int32Array};

    use super::*;

    #[test]
    fn an_offset_counts_for_every_query_vector() {
        let queries: ArrayRef = Arc::new(Int32Array::from(vec![0, 0, 0, 1, 1]));
        let rows: ArrayRef = Arc::new(Int32Array::from(vec![10, 11, 12, 20, 21]));
        let batch = RecordBatch::try_from_iter([(QUERY_INDEX, queries), ("row", rows)]).unwrap();
        let mut skip = SkipPerQuery::new(1);
        let mut left = Vec::new();
        for part in [batch.slice(0, 2), batch.slice(2, 3)] {
            let part = skip.apply(&part).unwrap();
            left.extend_from_slice(part["row"].as_primitive::<Int32Type>().values());
        }
        assert_eq!(left, [11, 12, 21]);
    }
}
