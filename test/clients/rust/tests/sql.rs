//! Statements of LanceDB's SDK, which go over Flight SQL.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use futures::StreamExt;
use joust_client_tests::{connect, connect_with_read_timeout, integers, items};
use lancedb::sql::QueryStatus;

fn one_row(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

#[tokio::test]
async fn a_statement_reads_tables() {
    let connection = connect().await;
    let table = connection.create_table("sql_items", items(0, 1_000));
    table.execute().await.unwrap();
    let sql = "SELECT id FROM sql_items WHERE price < 10 ORDER BY id";
    assert_eq!(
        integers(&connection, sql, None).await.unwrap(),
        [0, 1, 2, 3, 4]
    );
    let sql = "SELECT count(*) FROM sql_items";
    assert_eq!(integers(&connection, sql, None).await.unwrap(), [1_000]);
}

#[tokio::test]
async fn parameters_are_bound_by_number_and_by_name() {
    let connection = connect().await;
    let table = connection.create_table("sql_bound", items(0, 100));
    table.execute().await.unwrap();
    let id = || Arc::new(Int64Array::from(vec![7])) as ArrayRef;
    let name = || Arc::new(StringArray::from(vec!["item 9"])) as ArrayRef;
    for (sql, parameters) in [
        (
            "SELECT id FROM sql_bound WHERE id = $1 OR name = $2 ORDER BY id",
            one_row(vec![("1", id()), ("2", name())]),
        ),
        (
            "SELECT id FROM sql_bound WHERE id = $id OR name = $name ORDER BY id",
            one_row(vec![("id", id()), ("name", name())]),
        ),
    ] {
        let found = integers(&connection, sql, Some(parameters)).await.unwrap();
        assert_eq!(found, [7, 9], "{sql}");
    }
}

#[tokio::test]
async fn an_error_says_what_is_wrong() {
    let connection = connect().await;
    let error = integers(&connection, "SELECT id FROM sql_missing", None).await;
    assert!(error.unwrap_err().to_string().contains("sql_missing"));
    let error = integers(&connection, "SELEC 1", None).await;
    assert!(error.unwrap_err().to_string().contains("SELEC"));
}

#[tokio::test]
async fn a_long_query_starts_at_once_and_can_be_cancelled() {
    let connection = connect().await;
    let table = connection.create_table("sql_long", items(0, 20_000));
    table.execute().await.unwrap();
    let sql = "SELECT count(*) FROM sql_long a, sql_long b, sql_long c WHERE a.id + b.id > c.id";
    let query = connection.execute_query_async(sql).execute().await.unwrap();
    assert_eq!(query.describe().await.unwrap().status, QueryStatus::Running);
    query.cancel().await.unwrap();
    assert_eq!(
        query.describe().await.unwrap().status,
        QueryStatus::Cancelled
    );
}

#[tokio::test]
async fn a_statement_that_works_for_long_is_not_given_up() {
    let connection = connect_with_read_timeout(Duration::from_secs(15)).await;
    let table = connection.create_table("sql_silent", items(0, 20_000));
    table.execute().await.unwrap();
    let found = "FROM sql_silent a, sql_silent b WHERE sha512(a.name || b.name) = sha512('x')";
    for sql in [
        format!("SELECT count(*) {found}"),
        format!("INSERT INTO sql_silent SELECT a.* {found}"),
    ] {
        let query = connection.execute_query_async(&sql).execute().await.unwrap();
        let mut rows = query.reader().await.unwrap();
        // Twice the time-out of the reader.
        let reading = async { while rows.next().await.is_some_and(|batch| batch.is_ok()) {} };
        let ended = tokio::time::timeout(Duration::from_secs(30), reading).await;
        assert!(ended.is_err(), "{sql}");
    }
}
