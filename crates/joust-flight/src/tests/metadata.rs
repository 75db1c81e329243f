use std::collections::HashMap;

use arrow::array::{AsArray, RecordBatch};
use arrow_flight::sql::{
    CommandGetDbSchemas, CommandGetPrimaryKeys, CommandGetTables, CommandGetXdbcTypeInfo, SqlInfo,
};
use arrow_flight::{Action, IpcMessage};
use futures::StreamExt;
use prost::Message;

use super::fake::{fetch, request, start};
use crate::session::{OptionValue, SessionOptions, SetResult, Value};

fn column(batches: &[RecordBatch], name: &str) -> Vec<String> {
    let columns = batches.iter().map(|batch| {
        let column = batch.column_by_name(name).unwrap().as_string::<i32>();
        column
            .iter()
            .flatten()
            .map(str::to_string)
            .collect::<Vec<_>>()
    });
    columns.flatten().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_catalog_has_schemas_and_tables() {
    let started = start().await;
    let mut client = started.client("alice").await;
    let info = client.get_catalogs().await.unwrap();
    let batches = fetch(&mut client, info).await.unwrap();
    assert_eq!(column(&batches, "catalog_name"), ["joust"]);

    let wanted = CommandGetDbSchemas {
        catalog: None,
        db_schema_filter_pattern: Some("a%".to_string()),
    };
    let info = client.get_db_schemas(wanted).await.unwrap();
    let batches = fetch(&mut client, info).await.unwrap();
    assert_eq!(column(&batches, "db_schema_name"), ["a$b"]);

    let info = client
        .get_tables(CommandGetTables::default())
        .await
        .unwrap();
    let batches = fetch(&mut client, info).await.unwrap();
    assert_eq!(column(&batches, "table_name"), ["two", "one"]);
    assert_eq!(column(&batches, "table_type"), ["VIEW", "TABLE"]);

    let wanted = CommandGetTables {
        table_types: vec!["TABLE".to_string()],
        include_schema: true,
        ..CommandGetTables::default()
    };
    let info = client.get_tables(wanted).await.unwrap();
    let batches = fetch(&mut client, info).await.unwrap();
    assert_eq!(column(&batches, "table_name"), ["one"]);
    let schemas = batches[0].column_by_name("table_schema").unwrap();
    let bytes = schemas.as_binary::<i32>().value(0).to_vec();
    let schema = arrow::datatypes::Schema::try_from(IpcMessage(bytes.into())).unwrap();
    assert_eq!(schema.field(0).name(), "one");

    let info = client.get_table_types().await.unwrap();
    let batches = fetch(&mut client, info).await.unwrap();
    assert_eq!(column(&batches, "table_type"), ["TABLE"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_describes_itself() {
    let started = start().await;
    let mut client = started.client("alice").await;
    let info = client
        .get_sql_info(vec![SqlInfo::FlightSqlServerName])
        .await;
    let batches = fetch(&mut client, info.unwrap()).await.unwrap();
    assert_eq!(batches[0].num_rows(), 1);
    let info = client.get_xdbc_type_info(CommandGetXdbcTypeInfo { data_type: None });
    let info = info.await.unwrap();
    let batches = fetch(&mut client, info).await.unwrap();
    assert!(column(&batches, "type_name").contains(&"BIGINT".to_string()));
    let keys = CommandGetPrimaryKeys {
        table: "one".to_string(),
        ..CommandGetPrimaryKeys::default()
    };
    let info = client.get_primary_keys(keys).await.unwrap();
    let batches = fetch(&mut client, info).await.unwrap();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_has_a_schema() {
    let started = start().await;
    let schema = OptionValue {
        value: Some(Value::Text("a$b".to_string())),
    };
    let options = SessionOptions {
        options: HashMap::from([("schema".to_string(), schema)]),
    };
    let set = Action::new("SetSessionOptions", options.encode_to_vec());
    let response = started.raw().await.do_action(request(set)).await.unwrap();
    let cookie = response.metadata().get("set-cookie").unwrap().clone();
    let body = response.into_inner().next().await.unwrap().unwrap().body;
    assert!(SetResult::decode(body).unwrap().errors.is_empty());

    let mut get = request(Action::new("GetSessionOptions", ""));
    get.metadata_mut().insert("cookie", cookie);
    let mut results = started
        .raw()
        .await
        .do_action(get)
        .await
        .unwrap()
        .into_inner();
    let body = results.next().await.unwrap().unwrap().body;
    let options = SessionOptions::decode(body).unwrap().options;
    assert_eq!(
        options["schema"].value,
        Some(Value::Text("a$b".to_string()))
    );
}
