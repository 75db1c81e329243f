use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use datafusion::datasource::empty::EmptyTable;

use super::*;
use crate::sql::bound_rows::takes_rows;
use crate::sql::session;

/// The types of the parameters, over tables `t` and `u` with the same columns.
async fn types(sql: &str) -> Vec<Option<DataType>> {
    let vector = DataType::new_fixed_size_list(DataType::Float32, 2, true);
    let columns = Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int32, true),
        Field::new("name", DataType::Utf8, true),
        Field::new("price", DataType::Float64, true),
        Field::new("at", DataType::Date32, true),
        Field::new("vector", vector, true),
        Field::new("bytes", DataType::Binary, true),
        Field::new("Big Id", DataType::UInt64, true),
    ]));
    let changing = read(sql, Given::Open).unwrap().unwrap();
    let context = session::for_planning().unwrap();
    let of_query = match &changing.rows {
        Some((statement, _)) => {
            let tables = statement.tables().unwrap().into_iter();
            let tables: Vec<_> = tables
                .map(|name| (name, Arc::new(EmptyTable::new(columns.clone())) as _))
                .collect();
            statement.parameter_types(&context, &tables).await.unwrap()
        }
        None => Vec::new(),
    };
    let open = changing.open.unwrap();
    open.types(changing.parameters, &context, of_query, &columns)
        .await
        .unwrap()
}

fn vector() -> Option<DataType> {
    Some(DataType::new_fixed_size_list(DataType::Float32, 2, true))
}

#[tokio::test]
async fn values_have_the_types_of_their_columns() {
    use DataType as T;
    assert_eq!(
        types("INSERT INTO t VALUES ($1, $2, $3, $4, $5, $6, $7)").await,
        [
            Some(T::Int32),
            Some(T::Utf8),
            Some(T::Float64),
            Some(T::Date32),
            vector(),
            // Bytes are bound as text.
            None,
            Some(T::UInt64)
        ]
    );
    assert_eq!(
        types("INSERT INTO t (name, id) VALUES (?, ?), ('x', 1), (upper(?), (?))").await,
        [Some(T::Utf8), Some(T::Int32), None, Some(T::Int32)]
    );
    assert_eq!(
        types("INSERT INTO t (\"Big Id\", name) SELECT $1, name FROM u WHERE price > $2").await,
        [Some(T::UInt64), Some(T::Float64)]
    );
    // Of more columns than the table has, and of a column that it does not have.
    assert_eq!(types("INSERT INTO t (missing) VALUES ($1)").await, [None]);
}

#[tokio::test]
async fn compared_and_assigned_values_have_types() {
    use DataType as T;
    assert_eq!(
        types("UPDATE t SET name = $1, price = $2, id = id + $3, vector = $4 WHERE id = $5").await,
        [
            Some(T::Utf8),
            Some(T::Float64),
            Some(T::Int32),
            vector(),
            Some(T::Int32)
        ]
    );
    // One function whose argument has no type leaves the types of the others.
    assert_eq!(
        types("UPDATE t AS x SET name = upper($1) WHERE x.id = $2 AND x.price BETWEEN $3 AND $4")
            .await[1..],
        [Some(T::Int32), Some(T::Float64), Some(T::Float64)]
    );
    assert_eq!(
        types("DELETE FROM ns.t WHERE (t.at > $1 OR id IN ($2, 7)) AND name LIKE $3").await,
        [Some(T::Date32), Some(T::Int32), Some(T::Utf8)]
    );
}

#[tokio::test]
async fn merge_has_the_types_of_both_sides() {
    use DataType as T;
    assert_eq!(
        types(
            "MERGE INTO t USING (SELECT * FROM u WHERE price < $1) AS s ON t.id = s.id \
             WHEN MATCHED AND s.name <> $2 THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT * \
             WHEN NOT MATCHED BY SOURCE AND t.at < $3 THEN DELETE"
        )
        .await,
        [Some(T::Float64), Some(T::Utf8), Some(T::Date32)]
    );
    assert_eq!(
        types(
            "MERGE INTO t USING u ON t.id = u.id WHEN MATCHED AND u.price > $1 THEN UPDATE SET *"
        )
        .await,
        [Some(T::Float64)]
    );
}

#[test]
fn only_one_row_of_values_takes_rows_of_parameters() {
    for (sql, takes) in [
        ("INSERT INTO t VALUES ($1, upper($2), 3)", true),
        ("INSERT INTO t (a) VALUES (?);", true),
        ("INSERT INTO t VALUES ($1), ($2)", false),
        (
            "INSERT INTO t VALUES ($1, (SELECT a FROM u WHERE b = $2))",
            false,
        ),
        ("INSERT INTO t SELECT $1", false),
        ("INSERT INTO t VALUES ($1) LIMIT 1", false),
        ("DELETE FROM t WHERE id = $1", false),
        ("SELECT $1", false),
        ("INSERT INTO", false),
    ] {
        assert_eq!(takes_rows(sql), takes, "{sql}");
    }
}
