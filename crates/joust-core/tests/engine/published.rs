//! Versions whose manifest a client wrote.

use joust_core::Code;
use joust_core::table::{CloneSource, NewVersion, ReadOptions};

use crate::place::Place;
use crate::sent::upload_numbers;

/// A table with one version, and the path of the staged manifest of its second one.
async fn staged(place: &Place) -> (joust_core::Table, String) {
    let table = place.table("t");
    table.create(upload_numbers(0..10), false).await.unwrap();
    table.append(upload_numbers(10..20)).await.unwrap();
    let versions = table.list_versions().await.unwrap();
    let newest = versions.iter().find(|one| one.version == 2).unwrap();
    let manifest = format!("/{}", newest.manifest_path.trim_start_matches('/'));
    let staged = format!("{}/_versions/2.staged", place.location("t"));
    std::fs::rename(manifest, &staged).unwrap();
    // The engine has seen the version that is now gone.
    (place.beside().table("t"), staged)
}

/// A table with a second version that a client has published, and the path of its staged manifest.
async fn published(place: &Place) -> (joust_core::Table, String) {
    let (table, staged) = staged(place).await;
    assert_eq!(version_of(&table).await, 1);
    table.publish_version(new(&staged)).await.unwrap();
    assert_eq!(version_of(&table).await, 2);
    (table, staged)
}

fn new(staged: &str) -> NewVersion<'_> {
    NewVersion {
        version: 2,
        staged,
        size: None,
        v1: None,
    }
}

async fn version_of(table: &joust_core::Table) -> u64 {
    let described = table.describe(ReadOptions::default()).await.unwrap();
    described.version
}

#[tokio::test]
async fn a_version_is_not_published_while_the_newest_one_cannot_be_read() {
    let place = Place::new();
    let (table, staged) = staged(&place).await;
    let versions = std::path::Path::new(&staged).parent().unwrap();
    let names = || {
        let names = std::fs::read_dir(versions).unwrap();
        let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    let newest = before
        .iter()
        .find(|name| !name.to_string_lossy().contains("staged"));
    std::fs::write(versions.join(newest.unwrap()), b"broken").unwrap();
    assert!(table.publish_version(new(&staged)).await.is_err());
    assert_eq!(names(), before);
}

#[tokio::test]
async fn a_published_version_is_taken_back_and_published_again() {
    let place = Place::new();
    let (table, staged) = published(&place).await;
    table.withdraw_version(2, &staged).await.unwrap();
    assert_eq!(version_of(&table).await, 1);
    table.publish_version(new(&staged)).await.unwrap();
    assert_eq!(version_of(&table).await, 2);
}

#[tokio::test]
async fn a_version_that_a_tag_or_a_clone_needs_is_not_taken_back() {
    for for_clone in [false, true] {
        let place = Place::new();
        let (table, staged) = published(&place).await;
        let name = match for_clone {
            true => "joust-clone-c",
            false => "release",
        };
        match for_clone {
            true => {
                let newest = CloneSource::default();
                table.tag_for_clone(newest, name).await.unwrap();
            }
            false => table.create_tag(name, 2).await.unwrap(),
        }
        let error = table.withdraw_version(2, &staged).await.unwrap_err();
        assert_eq!(error.code(), Code::ConcurrentModification);
        let expected = format!("version 2 cannot be removed, because the tag `{name}` needs it");
        assert_eq!(error.message(), expected);
        assert_eq!(version_of(&table).await, 2);
        table.create_tag("other", 1).await.unwrap();
        table.delete_tag(name).await.unwrap();
        table.withdraw_version(2, &staged).await.unwrap();
        assert_eq!(version_of(&table).await, 1);
    }
}

#[tokio::test]
async fn a_version_from_which_a_branch_starts_is_not_taken_back() {
    let place = Place::new();
    let (table, staged) = published(&place).await;
    table.create_branch("fork", Some(2)).await.unwrap();
    let error = table.withdraw_version(2, &staged).await.unwrap_err();
    assert_eq!(error.code(), Code::ConcurrentModification);
    let expected = "version 2 cannot be removed, because the branch `fork` needs it";
    assert_eq!(error.message(), expected);
    assert_eq!(version_of(&table).await, 2);
}
