use arrow::datatypes::{DataType, Field as ArrowField, Schema as ArrowSchema};

use super::*;

fn schema(columns: &[(&str, DataType, i32)]) -> Schema {
    let fields = columns
        .iter()
        .map(|(name, kind, _)| ArrowField::new(*name, kind.clone(), true));
    let fields: Vec<ArrowField> = fields.collect();
    let mut schema = Schema::try_from(&ArrowSchema::new(fields)).unwrap();
    for (field, (_, _, id)) in schema.fields.iter_mut().zip(columns) {
        field.id = *id;
    }
    schema
}

#[test]
fn rows_pass_the_schema_check_unless_one_of_their_columns_was_replaced() {
    use DataType::{Int32, Int64};
    let written = schema(&[("a", Int32, 0), ("b", Int32, 1)]);
    for (what, columns, fits) in [
        ("the same", vec![("a", Int32, 0), ("b", Int32, 1)], true),
        (
            "in another order",
            vec![("b", Int32, 1), ("a", Int32, 0)],
            true,
        ),
        (
            "one was added",
            vec![("a", Int32, 0), ("b", Int32, 1), ("c", Int32, 2)],
            true,
        ),
        ("one was dropped", vec![("a", Int32, 0)], true),
        (
            "one was cast",
            vec![("a", Int64, 2), ("b", Int32, 1)],
            false,
        ),
        (
            "one was dropped and made anew",
            vec![("a", Int32, 2), ("b", Int32, 1)],
            false,
        ),
        (
            "one has another's number",
            vec![("a", Int32, 0), ("c", Int32, 1)],
            false,
        ),
        (
            "one has another type",
            vec![("a", Int32, 0), ("b", Int64, 1)],
            false,
        ),
    ] {
        assert_eq!(fit(&written, &schema(&columns)), fits, "{what}");
    }
}
