//! Assembles the columns of a result.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Float32Array, Int32Array, RecordBatch, RecordBatchOptions, UInt64Array,
};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use lance_core::datatypes::BlobHandling;

use super::Ranked;
use super::passages::passages;
use super::{Output, Own, Source};
use crate::error::Result;
use crate::text::as_returned;

impl Output {
    /// The rows of some hits, from the columns that were read from the table.
    pub(super) fn assemble(&self, taken: &[ArrayRef], hits: &[Ranked]) -> Result<RecordBatch> {
        let mut fields = Vec::with_capacity(self.columns.len());
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.columns.len());
        for (name, source) in &self.columns {
            let column: ArrayRef = match source {
                Source::Taken(index) => taken[*index].clone(),
                Source::Own(own) => values(*own, hits),
                Source::RowId => Arc::new(UInt64Array::from_iter_values(
                    hits.iter().map(|hit| hit.row),
                )),
                Source::Computed(computed) => {
                    computed.evaluate(taken, &values(Own::Score, hits))?
                }
                Source::Highlights => passages(&self.highlights, &self.style, taken, hits.len())?,
            };
            fields.push(self.field(name, source, column.data_type()));
            columns.push(column);
        }
        let schema: SchemaRef = Arc::new(Schema::new(fields));
        let options = RecordBatchOptions::new().with_row_count(Some(hits.len()));
        Ok(RecordBatch::try_new_with_options(
            schema, columns, &options,
        )?)
    }

    /// The field of an output column; table columns keep their schema metadata.
    fn field(&self, name: &str, source: &Source, data_type: &DataType) -> Field {
        let own = match source {
            Source::Taken(index) => self.dataset.schema().field(&self.taken[*index].1),
            _ => None,
        };
        match own {
            Some(own) => {
                // For a blob, Lance returns its location, whose type differs from the schema.
                let own = BlobHandling::default().unload_if_needed(own.clone());
                as_returned(Field::from(&own))
                    .with_name(name)
                    .with_data_type(data_type.clone())
            }
            None => {
                let is_known = matches!(source, Source::Own(Own::Query));
                Field::new(name, data_type.clone(), !is_known)
            }
        }
    }
}

fn values(own: Own, hits: &[Ranked]) -> ArrayRef {
    let floats = |value: fn(&Ranked) -> Option<f32>| -> ArrayRef {
        Arc::new(hits.iter().map(value).collect::<Float32Array>())
    };
    match own {
        Own::Query => Arc::new(Int32Array::from_iter_values(
            hits.iter().map(|hit| hit.query),
        )),
        Own::Distance => floats(|hit| hit.distance),
        Own::Score => floats(|hit| hit.score),
        Own::Relevance => floats(|hit| Some(hit.relevance)),
    }
}
