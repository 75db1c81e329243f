//! Columns of a source whose values a scan of Lance gives as they are.

use lance::Dataset;
use lance_core::datatypes::Field;

use super::super::schema::is_extension;

/// Whether a scan gives the values as they are: not those of blobs and of extension types, such as JSON.
pub fn is_plain(field: &Field) -> bool {
    let own = arrow::datatypes::Field::from(field);
    !field.is_blob()
        && !field.is_blob_v2()
        && !is_extension(&own)
        && field.children.iter().all(is_plain)
}

/// Whether a column of this name exists and is plain.
pub fn has_plain(source: &Dataset, name: &str) -> bool {
    let mut fields = source.schema().fields.iter();
    fields.any(|field| field.name == name && is_plain(field))
}
