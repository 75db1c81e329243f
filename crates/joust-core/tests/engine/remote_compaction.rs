//! Compactions whose workers are outside of the engine.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use joust_core::jobs::maintenance::Compact;
use joust_core::jobs::remote::RemoteWork;
use joust_core::{Code, Engine, EngineOptions, Error, Table, WorkContext};
use lance::Dataset;
use lance::dataset::NewColumnTransform;
use lance::dataset::rowids::SPILL_ROW_LINEAGE_CONFIG_KEY;
use tokio::task::JoinHandle;

use crate::sent::upload_numbers;

/// A table of two fragments.
async fn table(engine: &Engine, location: &str) -> Table {
    let table = engine.table(location, Default::default());
    table.create(upload_numbers(0..3), false).await.unwrap();
    table.append(upload_numbers(3..6)).await.unwrap();
    table
}

/// A compaction that workers do.
fn start(table: &Table) -> (RemoteWork, JoinHandle<joust_core::Result<u64>>) {
    let remote = RemoteWork::new(0);
    let (table, workers) = (table.clone(), remote.clone());
    let ended = tokio::spawn(async move {
        let compact = Compact {
            workers: Some(workers),
            ..Compact::default()
        };
        let compacted = table.compact(&compact, &WorkContext::default()).await?;
        Ok(compacted.fragments_removed)
    });
    (remote, ended)
}

/// The key of the only task of a compaction.
async fn key(table: &Table) -> String {
    let (remote, ended) = start(table);
    assert!(remote.ordered().await);
    let (_, order) = remote.order().unwrap();
    ended.abort();
    order.tasks[0].key.clone()
}

#[tokio::test]
async fn the_files_of_an_order_do_not_fit_one_with_another_column_of_the_same_name() {
    let directory = tempfile::tempdir().unwrap();
    let location = format!("{}/t.lance", directory.path().display());
    let table = table(&Engine::new(EngineOptions::default()), &location).await;
    let mut dataset = Dataset::open(&location).await.unwrap();
    let values = NewColumnTransform::SqlExpressions(vec![("m".into(), "n + 1".into())]);
    dataset.add_columns(values, None, None).await.unwrap();
    let before = key(&table).await;
    assert_eq!(key(&table).await, before);
    let fragments = dataset.manifest().fragments.clone();
    dataset.drop_columns(&["m"]).await.unwrap();
    let added = Arc::new(Schema::new(vec![Field::new("m", DataType::Int64, true)]));
    let nulls = NewColumnTransform::AllNulls(added);
    dataset.add_columns(nulls, None, None).await.unwrap();
    assert_eq!(dataset.manifest().fragments, fragments);
    assert_ne!(key(&table).await, before);
}

#[tokio::test]
async fn a_table_whose_data_files_have_row_ids_is_not_left_to_workers() {
    let directory = tempfile::tempdir().unwrap();
    let location = format!("{}/t.lance", directory.path().display());
    let table = table(&Engine::new(EngineOptions::default()), &location).await;
    let mut dataset = Dataset::open(&location).await.unwrap();
    let spill = [(SPILL_ROW_LINEAGE_CONFIG_KEY, Some("true"))];
    dataset.update_config(spill).await.unwrap();
    let (remote, ended) = start(&table);
    // Ends a compaction that waits for workers.
    remote.fail(Error::new(Code::Unsupported, "there are no workers"));
    assert_eq!(ended.await.unwrap().unwrap(), 2);
}

#[tokio::test]
async fn a_compaction_has_no_memory_while_workers_do_it() {
    let directory = tempfile::tempdir().unwrap();
    let location = format!("{}/t.lance", directory.path().display());
    let engine = Engine::new(EngineOptions::default());
    let table = table(&engine, &location).await;
    let (remote, ended) = start(&table);
    assert!(remote.ordered().await);
    assert_eq!(engine.memory().usage().taken.jobs, 0);
    ended.abort();
}
