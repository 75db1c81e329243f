//! Databases of LanceDB's catalog, which are namespaces.

use futures::TryStreamExt;
use joust_client_tests::{connect, integers, items, key, sql_url, url};
use lancedb::catalog::{ConnectCatalogBuilder, DropDatabaseRequest};

#[tokio::test]
async fn a_database_has_its_own_tables() {
    let catalog = ConnectCatalogBuilder::new(url())
        .api_key(key())
        .sql_host_override(sql_url())
        .execute()
        .await
        .unwrap();
    catalog.create_database("shop").await.unwrap();
    let shop = catalog.connect_database("shop").await.unwrap();
    let table = shop.create_table("orders", items(0, 4));
    table.execute().await.unwrap();
    assert_eq!(shop.table_names().execute().await.unwrap(), ["orders"]);
    let count = integers(&shop, "SELECT count(*) FROM orders", None).await;
    assert_eq!(count.unwrap(), [4]);
    let root = connect().await;
    assert!(root.open_table("orders").execute().await.is_err());
    let names: Vec<String> = catalog
        .list_databases(None, None)
        .try_collect()
        .await
        .unwrap();
    assert!(names.contains(&"shop".to_string()));
    let drop = DropDatabaseRequest::new("shop").cascade(true);
    catalog.drop_database(drop).await.unwrap();
    assert!(catalog.connect_database("shop").await.is_err());
}
