//! The column of highlighted passages of a text query.

use std::sync::Arc;

use arrow::array::{ArrayRef, ListBuilder, StringBuilder, StructArray};
use arrow::datatypes::{Field, Fields};
use joust_text::highlight::Style;

use super::Highlighted;
use crate::error::Result;
use crate::text::texts;

/// A struct with a list of passages for each column.
pub(super) fn passages(
    columns: &[Highlighted],
    style: &Style,
    taken: &[ArrayRef],
    rows: usize,
) -> Result<ArrayRef> {
    let mut fields = Vec::new();
    let mut lists: Vec<ArrayRef> = Vec::new();
    for highlighted in columns {
        let column = &highlighted.column;
        let texts = texts(&taken[highlighted.taken], column.keys.as_deref())?;
        let mut list = ListBuilder::new(StringBuilder::new());
        for row in 0..rows {
            let mut left = style.fragments;
            for text in texts.of(row) {
                let style = Style {
                    fragments: left,
                    ..style.clone()
                };
                let passages = match left {
                    0 => Vec::new(),
                    _ => highlighted.highlighter.passages(text, &style),
                };
                left -= passages.len();
                for passage in passages {
                    list.values().append_value(passage);
                }
            }
            list.append(true);
        }
        let list: ArrayRef = Arc::new(list.finish());
        let data_type = list.data_type().clone();
        fields.push(Field::new(column.name(), data_type, true));
        lists.push(list);
    }
    let fields = Fields::from(fields);
    Ok(Arc::new(StructArray::try_new_with_length(
        fields, lists, None, rows,
    )?))
}
