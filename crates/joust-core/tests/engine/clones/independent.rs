//! Changes of the source and of the clone.

use joust_core::WorkContext;
use joust_core::jobs::maintenance::Compact;
use joust_core::table::{ReadOptions, Update};

use super::{clean_up, cloned, count, files, ids, index, rows, source};
use crate::place::Place;

const FIRST: std::ops::Range<i64> = 10..60;

#[tokio::test]
async fn a_shallow_clone_has_no_data_of_its_own() {
    let place = Place::new();
    let source = source(&place).await;
    let clone = cloned(&place, "clone", &source, Default::default()).await;
    assert_eq!(count(&clone).await, 50);
    assert_eq!(ids(&place, "clone").await, FIRST.collect::<Vec<_>>());
    let own = files(place.location("clone").as_ref());
    let is_small = |file: &std::path::PathBuf| {
        file.starts_with("_versions") || file.starts_with("_transactions")
    };
    assert!(own.iter().all(is_small), "{own:?}");
}

/// Nothing keeps the files of the cloned version but the tag.
#[tokio::test]
async fn the_clone_survives_every_change_of_its_source_and_the_clean_up_after_it() {
    let place = Place::new();
    let source = source(&place).await;
    index(&source, "id", "BTREE").await;
    index(&source, "text", "FTS").await;
    let clone = cloned(&place, "clone", &source, Default::default()).await;
    let version = source
        .describe(ReadOptions::default())
        .await
        .unwrap()
        .version;
    let work = WorkContext::default();
    source.append(rows(60..90)).await.unwrap();
    let update = Update {
        predicate: None,
        set: vec![("text".into(), "'pear'".into())],
    };
    source.update(update).await.unwrap();
    let target = Compact {
        target_rows_per_fragment: Some(1_000),
        ..Compact::default()
    };
    source.compact(&target, &work).await.unwrap();
    source.drop_index("text_idx").await.unwrap();
    source.optimize_indices(&work).await.unwrap();
    source.restore(1).await.unwrap();
    source.create(rows(900..901), true).await.unwrap();
    let before = files(place.location("source").as_ref());
    clean_up(&source).await;
    let after = files(place.location("source").as_ref());
    assert!(after.len() < before.len(), "the clean-up removes files");
    let kept = source.list_versions().await.unwrap();
    let kept: Vec<_> = kept.iter().map(|version| version.version).collect();
    assert_eq!(kept.len(), 2);
    assert_eq!(kept[0], version);
    for table in [clone, place.beside().table("clone")] {
        assert_eq!(count(&table).await, 50);
        let options = ReadOptions::default;
        let found = table.count_rows(Some("id = 42"), options()).await;
        assert_eq!(found.unwrap(), 1);
        let found = super::query(&table, super::text("number42")).await;
        assert_eq!(found, [42]);
    }
    assert_eq!(ids(&place, "clone").await, FIRST.collect::<Vec<_>>());
}

/// The counterpart of the test before: the tag is what keeps the files.
#[tokio::test]
async fn without_its_tag_a_clone_loses_its_files() {
    let place = Place::new();
    let source = source(&place).await;
    cloned(&place, "clone", &source, Default::default()).await;
    source.create(rows(900..901), true).await.unwrap();
    source.delete_tag(&super::tag_of("clone")).await.unwrap();
    clean_up(&source).await;
    let clone = place.beside().table("clone");
    let rows = clone.count_rows(Some("id >= 0"), ReadOptions::default());
    assert!(rows.await.is_err());
}

#[tokio::test]
async fn changes_of_the_clone_and_its_clean_up_leave_the_source_alone() {
    let place = Place::new();
    let source = source(&place).await;
    index(&source, "id", "BTREE").await;
    index(&source, "text", "FTS").await;
    index(&source, "vector", "IVF_FLAT").await;
    let clone = cloned(&place, "clone", &source, Default::default()).await;
    let before = files(place.location("source").as_ref());
    let work = WorkContext::default();
    clone.append(rows(60..90)).await.unwrap();
    clone.delete("id < 20").await.unwrap();
    let update = Update {
        predicate: Some("id = 42".into()),
        set: vec![("text".into(), "'pear'".into())],
    };
    clone.update(update).await.unwrap();
    clone.optimize_indices(&work).await.unwrap();
    clean_up(&clone).await;
    let reads = async |name: &str| {
        let table = place.beside().table(name);
        let pears = super::query(&table, super::text("pear")).await;
        (ids(&place, name).await.len(), pears)
    };
    assert_eq!(reads("clone").await, (70, vec![42]));
    let target = Compact {
        target_rows_per_fragment: Some(1_000),
        deletion_threshold: Some(0.0),
        ..Compact::default()
    };
    clone.compact(&target, &work).await.unwrap();
    clone.optimize_indices(&work).await.unwrap();
    clean_up(&clone).await;
    assert_eq!(reads("clone").await, (70, vec![42]));
    assert_eq!(files(place.location("source").as_ref()), before);
    assert_eq!(reads("source").await, (50, vec![]));
}
