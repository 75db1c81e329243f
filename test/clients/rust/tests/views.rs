//! Materialized views of LanceDB's SDK, which are SQL statements.

use futures::TryStreamExt;
use joust_client_tests::{connect, eventually, items};
use lancedb::Connection;
use lancedb::table::computed_columns::ComputedColumnOptions;

async fn names(connection: &Connection) -> Vec<String> {
    let listed = connection.list_materialized_views(Default::default());
    listed.try_collect().await.unwrap()
}

#[tokio::test]
async fn a_view_is_created_filled_refreshed_and_dropped() {
    let connection = connect().await;
    let source = connection.create_table("view_source", items(0, 10));
    let source = source.execute().await.unwrap();
    let view = connection
        .create_materialized_view("cheap", "view_source")
        .select([("id", "id"), ("half", "price / 2")])
        .only_if("price < 100")
        .execute()
        .await
        .unwrap();
    assert_eq!(view.table().count_rows(None).await.unwrap(), 10);
    assert!(view.definition_sql().contains("price < 100"));
    source.add(items(10, 90)).execute().await.unwrap();
    view.refresh().execute().await.unwrap();
    assert_eq!(view.table().count_rows(None).await.unwrap(), 50);

    let opened = connection.open_materialized_view("cheap").await.unwrap();
    assert_eq!(opened.definition_sql(), view.definition_sql());
    assert!(names(&connection).await.contains(&"cheap".to_string()));
    connection
        .drop_materialized_view("cheap", &[])
        .await
        .unwrap();
    assert!(!names(&connection).await.contains(&"cheap".to_string()));
    assert!(
        connection
            .open_materialized_view("view_source")
            .await
            .is_err()
    );
}

#[tokio::test]
async fn a_view_with_auto_refresh_follows_its_source() {
    let connection = connect().await;
    let source = connection.create_table("followed", items(0, 10));
    let source = source.execute().await.unwrap();
    let view = connection
        .create_materialized_view("following", "followed")
        .auto_refresh_enabled(true)
        .auto_refresh_interval_seconds(1.0)
        .execute()
        .await
        .unwrap();
    source.add(items(10, 5)).execute().await.unwrap();
    eventually("the view has 15 rows", async || {
        view.table().count_rows(None).await.unwrap() == 15
    })
    .await;
}

#[tokio::test]
async fn a_computed_column_with_auto_refresh_is_filled() {
    let connection = connect().await;
    let table = connection.create_table("computed", items(0, 10));
    let table = table.execute().await.unwrap();
    let options = ComputedColumnOptions {
        auto_refresh_enabled: true,
        auto_refresh_interval_seconds: Some(1),
    };
    let column = table.add_columns().computed("thrice", "price * 3");
    column.computed_options(options).execute().await.unwrap();
    let filled = || Some("thrice = price * 3".to_string());
    eventually("all rows have a value", async || {
        table.count_rows(filled()).await.unwrap() == 10
    })
    .await;
    table.add(items(10, 5)).execute().await.unwrap();
    eventually("new rows have a value", async || {
        table.count_rows(filled()).await.unwrap() == 15
    })
    .await;
}
