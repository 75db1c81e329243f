//! Clones of clones, of tags and of branches.

use joust_core::table::CloneSource;

use super::{at, clean_up, cloned, files, ids, index, query, rows, source, text};
use crate::place::Place;

#[tokio::test]
async fn a_clone_of_a_clone_reads_the_files_of_both() {
    let place = Place::new();
    let source = source(&place).await;
    index(&source, "text", "FTS").await;
    let middle = cloned(&place, "middle", &source, Default::default()).await;
    middle.append(rows(60..70)).await.unwrap();
    middle.optimize_indices(&Default::default()).await.unwrap();
    let last = cloned(&place, "last", &middle, Default::default()).await;
    for table in [&source, &middle] {
        table.create(rows(900..901), true).await.unwrap();
        clean_up(table).await;
    }
    last.append(rows(70..80)).await.unwrap();
    clean_up(&last).await;
    assert_eq!(ids(&place, "last").await, (10..80).collect::<Vec<_>>());
    for word in ["number20", "number65", "number75"] {
        assert_eq!(query(&last, text(word)).await.len(), 1, "{word}");
    }
    // A copy reads none of them.
    let copy = place.table("copy");
    copy.clone_from(&last, CloneSource::default())
        .await
        .unwrap();
    for name in ["source", "middle", "last"] {
        std::fs::remove_dir_all(place.location(name)).unwrap();
    }
    assert_eq!(ids(&place, "copy").await, (10..80).collect::<Vec<_>>());
    assert_eq!(query(&copy, text("number20")).await, [20]);
}

#[tokio::test]
async fn a_clone_of_a_version_or_a_tag_has_its_rows() {
    let place = Place::new();
    let source = source(&place).await;
    source.create_tag("first", 1).await.unwrap();
    cloned(&place, "numbered", &source, at(2)).await;
    let tagged = CloneSource {
        version: None,
        tag: Some("first".into()),
    };
    cloned(&place, "tagged", &source, tagged).await;
    source.create(rows(900..901), true).await.unwrap();
    // The clone does not need the tag that the request named.
    source.delete_tag("first").await.unwrap();
    clean_up(&source).await;
    assert_eq!(ids(&place, "numbered").await.len(), 60);
    assert_eq!(ids(&place, "tagged").await, (0..30).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_clone_of_a_branch_survives_its_changes() {
    let place = Place::new();
    let source = source(&place).await;
    source.create_branch("work", Some(2)).await.unwrap();
    let branch = source.on_branch(Some("work"));
    branch.append(rows(60..65)).await.unwrap();
    let version = branch.list_versions().await.unwrap();
    let version = version.last().unwrap().version;
    branch.create_tag("point", version).await.unwrap();
    let tagged = CloneSource {
        version: None,
        tag: Some("point".into()),
    };
    let clone = cloned(&place, "clone", &source, tagged).await;
    branch.delete("true").await.unwrap();
    source.create(rows(900..901), true).await.unwrap();
    clean_up(&branch).await;
    clean_up(&source).await;
    let before = files(place.location("source").as_ref());
    clone.append(rows(65..70)).await.unwrap();
    clean_up(&clone).await;
    assert_eq!(ids(&place, "clone").await, (0..70).collect::<Vec<_>>());
    assert_eq!(files(place.location("source").as_ref()), before);
}
