//! The declaration of a virtual column, which a function outside of the engine computes, in its field's metadata.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema};

/// Metadata key that marks such a column. The other keys of the declaration start with it and a dot.
pub const VIRTUAL: &str = "virtual_column";
/// Metadata key of the function's name.
pub const VIRTUAL_NAME: &str = "virtual_column.udf_name";

/// A schema without declarations of functions. Other tools run those functions, so only an administrator declares them:
/// uploaded rows must not, whose schema may come from another table.
pub fn without_functions(schema: Schema) -> Schema {
    let declares = |key: &str| {
        let rest = key.strip_prefix(VIRTUAL);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let has_functions = |field: &Arc<Field>| field.metadata().keys().any(|key| declares(key));
    if !schema.fields.iter().any(has_functions) {
        return schema;
    }
    let fields = schema.fields.iter().map(|field| {
        let mut metadata = field.metadata().clone();
        metadata.retain(|key, _| !declares(key));
        field.as_ref().clone().with_metadata(metadata)
    });
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata)
}
