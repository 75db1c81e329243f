//! Compactions whose workers are outside of the engine.

#![allow(clippy::unwrap_used)]

use joust_core::jobs::maintenance::Compact;
use joust_core::jobs::remote::RemoteWork;
use joust_core::{Code, Engine, EngineOptions, Error, Table, WorkContext};
use lance::Dataset;
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
