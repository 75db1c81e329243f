//! What is known of a write in parts whose commit's answer was lost.

#![allow(clippy::unwrap_used)]

use joust_core::table::PartsCommit;
use joust_core::{Code, Engine, EngineOptions, Table};

use crate::sent::upload_numbers;

/// A table of one version, and the directory it is in.
async fn table() -> (Table, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let location = format!("{}/t.lance", directory.path().display());
    let table = Engine::new(EngineOptions::default()).table(&location, Default::default());
    table.create(upload_numbers(0..3), false).await.unwrap();
    (table, directory)
}

/// A write of two parts that was not committed yet.
async fn parts(table: &Table) -> PartsCommit {
    let mut parts = Vec::new();
    for from in [10, 20] {
        let part = table
            .write_part(upload_numbers(from..from + 2), false, 1)
            .await;
        parts.push(part.unwrap().contents);
    }
    PartsCommit {
        id: "the write".into(),
        version: 1,
        overwrite: false,
        parts,
    }
}

async fn found(table: &Table, write: &PartsCommit) -> joust_core::Result<Option<u64>> {
    table.committed_parts(&write.id, 1, &write.parts).await
}

#[tokio::test]
async fn a_commit_is_found_by_its_version() {
    let (table, _directory) = table().await;
    let write = parts(&table).await;
    assert_eq!(found(&table, &write).await.unwrap(), None);
    table.append(upload_numbers(3..4)).await.unwrap();
    assert_eq!(found(&table, &write).await.unwrap(), None);
    assert_eq!(table.commit_parts(write.clone()).await.unwrap(), 3);
    table.append(upload_numbers(4..5)).await.unwrap();
    assert_eq!(found(&table, &write).await.unwrap(), Some(3));
}

#[tokio::test]
async fn a_commit_whose_version_is_cleaned_up_is_found_by_its_files() {
    let (table, _directory) = table().await;
    let write = parts(&table).await;
    assert_eq!(table.commit_parts(write.clone()).await.unwrap(), 2);
    for from in [3, 4] {
        table.append(upload_numbers(from..from + 1)).await.unwrap();
    }
    table.delete("n = 10 OR n = 11").await.unwrap();
    assert_eq!(table.delete_versions(&[(2, Some(3))]).await.unwrap(), 1);
    assert_eq!(found(&table, &write).await.unwrap(), Some(3));
    assert_eq!(table.delete_versions(&[(2, Some(5))]).await.unwrap(), 2);
    assert_eq!(found(&table, &write).await.unwrap(), Some(5));
}

#[tokio::test]
async fn a_commit_without_a_trace_is_reported_as_unknown() {
    let (table, _directory) = table().await;
    let write = parts(&table).await;
    table.commit_parts(write.clone()).await.unwrap();
    table.delete("n >= 10").await.unwrap();
    table.delete_versions(&[(2, Some(3))]).await.unwrap();
    let unknown = found(&table, &write).await.unwrap_err();
    assert_eq!(unknown.code(), Code::ConcurrentModification);
    assert!(unknown.message().contains("read the table"), "{unknown}");
}
