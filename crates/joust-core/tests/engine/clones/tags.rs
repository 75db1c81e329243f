//! The tags that keep the files of clones.

use joust_core::Code;
use joust_core::table::CloneSource;

use super::{at, cloned, code, source, tag_of};
use crate::place::Place;

#[tokio::test]
async fn users_can_neither_create_nor_move_the_tag_of_a_clone() {
    let place = Place::new();
    let source = source(&place).await;
    let tag = tag_of("clone");
    assert_eq!(code(source.create_tag(&tag, 1).await), Code::InvalidInput);
    cloned(&place, "clone", &source, at(2)).await;
    assert_eq!(code(source.update_tag(&tag, 3).await), Code::InvalidInput);
    assert_eq!(source.tag(&tag).await.unwrap().version, 2);
    let other = source.tag_for_clone(at(2), "mine").await;
    assert_eq!(code(other), Code::InvalidInput);
}

#[tokio::test]
async fn versions_and_branches_that_a_clone_reads_cannot_be_deleted() {
    let place = Place::new();
    let source = source(&place).await;
    cloned(&place, "clone", &source, at(2)).await;
    let refused = source.delete_versions(&[(1, Some(3))]).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidTableState);
    assert!(refused.message().contains("drop the clone first"));
    source.create_branch("work", Some(1)).await.unwrap();
    let branch = source.on_branch(Some("work"));
    cloned(&place, "other", &branch, CloneSource::default()).await;
    let refused = source.delete_branch("work").await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidTableState);
    assert!(refused.message().contains("drop the clones first"));
}

#[tokio::test]
async fn a_state_that_does_not_exist_gets_no_tag() {
    let place = Place::new();
    let source = source(&place).await;
    let tag = tag_of("clone");
    let missing = source.tag_for_clone(at(99), &tag).await;
    assert_eq!(code(missing), Code::TableVersionNotFound);
    let unknown = CloneSource {
        version: None,
        tag: Some("none".into()),
    };
    let missing = source.tag_for_clone(unknown, &tag).await;
    assert_eq!(code(missing), Code::TableTagNotFound);
    assert!(source.list_tags().await.unwrap().is_empty());
}
