//! Makes the rows of a view from rows of its query and the results of its function.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, RecordBatch, UInt32Array, UInt64Array};
use arrow::compute::take;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use super::{CHILD_INDEX, SOURCE_ROW_ID};
use crate::error::{Code, Error, Result};
use crate::schema::struct_field;

/// What the columns of a view are made of.
pub struct Layout {
    /// The columns of the rows, in the order of the view. Their types are those of the query and of the function.
    pub schema: SchemaRef,
    parts: Vec<Part>,
}

enum Part {
    /// A column of the query, by its position.
    Query(usize),
    /// A field of the function's struct.
    Output(String),
    SourceRowId,
    ChildIndex,
}

impl Layout {
    /// `query`: the columns of the query, without the row id. `inherited`: the columns of the view that come from it.
    pub fn new(query: &Schema, view: &Schema, inherited: &[String]) -> Result<Self> {
        let mut parts = Vec::with_capacity(view.fields().len());
        let mut fields = Vec::with_capacity(view.fields().len());
        for field in view.fields() {
            let name = field.name();
            let (part, data_type) = match name.as_str() {
                SOURCE_ROW_ID => (Part::SourceRowId, DataType::UInt64),
                CHILD_INDEX => (Part::ChildIndex, DataType::Int32),
                _ if inherited.contains(name) => {
                    let at = query.index_of(name)?;
                    (Part::Query(at), query.field(at).data_type().clone())
                }
                _ => (Part::Output(name.clone()), field.data_type().clone()),
            };
            parts.push(part);
            fields.push(Field::new(name, data_type, true));
        }
        Ok(Self {
            schema: Arc::new(Schema::new(fields)),
            parts,
        })
    }

    /// The rows of the view for some rows of the query, in parts: [`batch`](Self::batch) makes a batch of about `most_bytes`
    /// of each. A row of the query may be large, and each of its rows repeats it. `results`: a list of structs for each
    /// row of the query; none for a null.
    pub fn parts(
        &self,
        query: &RecordBatch,
        results: &ArrayRef,
        most_bytes: usize,
    ) -> Result<Vec<Made>> {
        let lists = results.as_list_opt::<i32>().ok_or_else(other_results)?;
        let outputs =
            lists.values().to_data().get_slice_memory_size()? / lists.values().len().max(1);
        let inherited = self.inherited_bytes(query)?;
        let mut parts = Vec::new();
        let (mut made, mut bytes) = (Made::default(), 0);
        for (row, range) in lists.offsets().windows(2).enumerate() {
            if lists.is_null(row) {
                continue;
            }
            for (position, child) in (0_i32..).zip(range[0]..range[1]) {
                made.parents.push(row as u32);
                made.children.push(child as u32);
                made.positions.push(position);
                bytes += inherited[row] + outputs;
                if bytes >= most_bytes {
                    parts.push(std::mem::take(&mut made));
                    bytes = 0;
                }
            }
        }
        if !made.parents.is_empty() {
            parts.push(made);
        }
        Ok(parts)
    }

    /// A batch of the view. The last column of `query` is the row id.
    pub fn batch(
        &self,
        query: &RecordBatch,
        results: &ArrayRef,
        made: Made,
    ) -> Result<RecordBatch> {
        let lists = results.as_list_opt::<i32>().ok_or_else(other_results)?;
        let parents = UInt32Array::from(made.parents);
        let children = UInt32Array::from(made.children);
        let columns = self.parts.iter().map(|part| match part {
            Part::Query(at) => Ok(take(query.column(*at), &parents, None)?),
            Part::Output(name) => {
                let column = struct_field(lists.values(), name).ok_or_else(other_results)?;
                Ok(take(&column, &children, None)?)
            }
            Part::SourceRowId => Ok(take(row_ids(query)?, &parents, None)?),
            Part::ChildIndex => Ok(Arc::new(Int32Array::from(made.positions.clone())) as ArrayRef),
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        Ok(RecordBatch::try_new(self.schema.clone(), columns)?)
    }

    /// Bytes that each row of the query gives to each of its rows: those of texts and bytes of the row itself, and the
    /// average of other values.
    fn inherited_bytes(&self, query: &RecordBatch) -> Result<Vec<usize>> {
        let rows = query.num_rows();
        let mut bytes = vec![size_of::<u64>(); rows];
        for part in &self.parts {
            let Part::Query(at) = part else { continue };
            let column = query.column(*at);
            let data = column.to_data();
            let average = data.get_slice_memory_size()? / rows.max(1);
            for (row, bytes) in bytes.iter_mut().enumerate() {
                *bytes += match column.data_type() {
                    DataType::Utf8 => column.as_string::<i32>().value_length(row) as usize,
                    DataType::LargeUtf8 => column.as_string::<i64>().value_length(row) as usize,
                    DataType::Binary => column.as_binary::<i32>().value_length(row) as usize,
                    DataType::LargeBinary => column.as_binary::<i64>().value_length(row) as usize,
                    _ => average,
                };
            }
        }
        Ok(bytes)
    }
}

/// Rows of the view: the row of the query of each, its struct, and its position among those of the same row.
#[derive(Debug, Default)]
pub struct Made {
    parents: Vec<u32>,
    children: Vec<u32>,
    positions: Vec<i32>,
}

/// The ids of the source's rows, which are the last column of the query.
pub fn row_ids(query: &RecordBatch) -> Result<&UInt64Array> {
    let ids = query
        .columns()
        .last()
        .and_then(|column| column.as_any().downcast_ref());
    ids.ok_or_else(|| Error::new(Code::Internal, "the rows of the query have no ids"))
}

fn other_results() -> Error {
    Error::new(
        Code::Internal,
        "the function has other results than lists of its columns",
    )
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, ListArray, StringArray, StructArray};
    use arrow::buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
    use arrow::compute::concat_batches;

    use super::*;

    /// One output `word` of type text: `[["a", "b"], null, [], [null struct, "c"]]`.
    fn results() -> ArrayRef {
        let words: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "hidden", "x", "c"]));
        let word = Arc::new(Field::new("word", DataType::Utf8, true));
        let rows = StructArray::new(
            vec![word].into(),
            vec![words],
            Some(NullBuffer::from(vec![true, true, true, false, true])),
        );
        let item = Arc::new(Field::new_list_field(rows.data_type().clone(), true));
        Arc::new(ListArray::new(
            item,
            // The list of the null row is not empty.
            OffsetBuffer::new(ScalarBuffer::from(vec![0, 2, 3, 3, 5])),
            Arc::new(rows),
            Some(NullBuffer::from(vec![true, false, true, true])),
        ))
    }

    #[test]
    fn each_struct_becomes_a_row_with_the_columns_of_its_parent() {
        let query = Schema::new(vec![
            Field::new("id", DataType::Int64, true),
            Field::new("left_out", DataType::Int64, true),
        ]);
        let view = Schema::new(vec![
            Field::new(CHILD_INDEX, DataType::Int32, true),
            Field::new("word", DataType::Utf8, true),
            Field::new("id", DataType::Int64, true),
            Field::new(SOURCE_ROW_ID, DataType::Int64, true),
        ]);
        let layout = Layout::new(&query, &view, &["id".to_string()]).unwrap();
        let ids: ArrayRef = Arc::new(Int64Array::from(vec![10, 11, 12, 13]));
        let row_ids: ArrayRef = Arc::new(UInt64Array::from(vec![7, 8, 9, 6]));
        let rows = RecordBatch::try_from_iter([
            ("id", ids.clone()),
            ("left_out", ids),
            ("_rowid", row_ids),
        ])
        .unwrap();
        let batches = |most_bytes: usize| -> Vec<RecordBatch> {
            let results = results();
            let parts = layout.parts(&rows, &results, most_bytes).unwrap();
            let parts = parts.into_iter();
            parts
                .map(|made| layout.batch(&rows, &results, made).unwrap())
                .collect()
        };
        let made = batches(usize::MAX);
        assert_eq!(made.len(), 1);
        // With a small limit each row is a batch.
        let each = batches(1);
        assert_eq!(each.len(), 4);
        assert_eq!(concat_batches(&layout.schema, &each).unwrap(), made[0]);
        let made = &made[0];
        let of = |name: &str| made.column_by_name(name).unwrap().clone();
        let positions: ArrayRef = Arc::new(Int32Array::from(vec![0, 1, 0, 1]));
        assert_eq!(&of(CHILD_INDEX), &positions);
        let words: ArrayRef = Arc::new(StringArray::from(vec![
            Some("a"),
            Some("b"),
            None,
            Some("c"),
        ]));
        assert_eq!(&of("word"), &words);
        let ids: ArrayRef = Arc::new(Int64Array::from(vec![10, 10, 13, 13]));
        assert_eq!(&of("id"), &ids);
        let row_ids: ArrayRef = Arc::new(UInt64Array::from(vec![7, 7, 6, 6]));
        assert_eq!(&of(SOURCE_ROW_ID), &row_ids);
    }
}
