//! A branch is there exactly when it is listed, whatever is written, deleted or left behind.

#![allow(clippy::unwrap_used)]

mod deletion;
mod place;

use std::fs;
use std::time::Duration;

use futures::future::join_all;
use joust_core::table::{ReadOptions, Written};
use joust_core::{Code, Result, Table};
use tokio::task::JoinHandle;

use self::place::Place;
use crate::long::Long;
use crate::sent::{numbers, upload_numbers};

const LONG_AGO: Duration = Duration::from_secs(3600);

async fn count(table: &Table, branch: &str) -> Result<u64> {
    let branch = table.on_branch(Some(branch));
    branch
        .count_rows(Some("n >= 0"), ReadOptions::default())
        .await
}

async fn names(table: &Table) -> Vec<String> {
    let branches = table.list_branches().await.unwrap().into_iter();
    branches.map(|branch| branch.name).collect()
}

fn code<T: std::fmt::Debug>(outcome: Result<T>) -> Code {
    outcome.unwrap_err().code()
}

/// That there is no such branch for anybody.
async fn assert_gone(place: &Place, table: &Table, branch: &str) {
    assert!(!names(table).await.contains(&branch.to_string()));
    for table in [table.clone(), place.server()] {
        let gone = Code::TableBranchNotFound;
        assert_eq!(code(count(&table, branch).await), gone);
        let branch = table.on_branch(Some(branch));
        assert_eq!(code(branch.append(upload_numbers(0..1)).await), gone);
        assert_eq!(code(branch.delete("n = 1").await), gone);
        assert_eq!(code(branch.list_versions().await), gone);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_branch_is_removed_although_another_one_is_below_it() {
    let (place, table) = Place::new().await;
    for name in ["a", "a/b", "a/b/c"] {
        table.create_branch(name, None).await.unwrap();
        let branch = table.on_branch(Some(name));
        branch.append(upload_numbers(6..10)).await.unwrap();
    }
    for (name, others) in [("a", ["a/b", "a/b/c"]), ("a/b", ["a", "a/b/c"])] {
        table.delete_branch(name).await.unwrap();
        assert_gone(&place, &table, name).await;
        for other in others {
            assert!(count(&table, other).await.is_ok(), "{other}");
        }
        // Nothing of the one that was deleted is in the next of its name.
        table.create_branch(name, Some(1)).await.unwrap();
        assert_eq!(count(&table, name).await.unwrap(), 3);
        assert_eq!(count(&place.server(), name).await.unwrap(), 3);
    }
    assert_eq!(count(&table, "a/b/c").await.unwrap(), 10);
    for name in ["a", "a/b", "a/b/c"] {
        table.delete_branch(name).await.unwrap();
    }
    assert_eq!(fs::read_dir(place.path("tree")).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_a_branch_leaves_one_alone_that_is_being_made_beside_or_below_it() {
    let (place, table) = Place::new().await;
    for name in ["team/x", "team/y", "team/x/z"] {
        table.create_branch(name, None).await.unwrap();
    }
    // As other servers leave them for a moment.
    let unfinished = ["team/y", "team/x/z"];
    let aside = |name: &str| place.reference(name).with_extension("aside");
    for name in unfinished {
        fs::rename(place.reference(name), aside(name)).unwrap();
    }
    table.delete_branch("team/x").await.unwrap();
    for name in unfinished {
        fs::rename(aside(name), place.reference(name)).unwrap();
    }
    assert_eq!(names(&table).await, ["team/x/z", "team/y"]);
    for name in unfinished {
        assert_eq!(count(&table, name).await.unwrap(), 6);
    }
    assert_gone(&place, &table, "team/x").await;
}

/// A file among those of another branch would go with them, or stay when they go.
#[tokio::test(flavor = "multi_thread")]
async fn a_branch_is_not_made_among_the_files_of_another() {
    let (_place, table) = Place::new().await;
    table.create_branch("a", None).await.unwrap();
    table.create_branch("b/data", None).await.unwrap();
    for (name, other) in [("a/data", "a"), ("a/_versions/x", "a"), ("b", "b/data")] {
        let refused = table.create_branch(name, None).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidInput);
        assert!(
            refused.message().contains(&format!("branch `{other}`")),
            "{refused}"
        );
    }
    assert_eq!(names(&table).await, ["a", "b/data"]);
}

/// A branch whose rows are being replaced by what has not come to its end.
async fn being_replaced(table: &Table, branch: &str) -> (Long, JoinHandle<Result<Written>>) {
    let (long, read) = Long::of(&numbers(0..100_000));
    let on_branch = table.on_branch(Some(branch));
    let replacing = tokio::spawn(async move { on_branch.overwrite(read).await });
    long.begin().await;
    (long, replacing)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_in_progress_does_not_recreate_a_deleted_branch() {
    for again in [false, true] {
        let (place, table) = Place::new().await;
        table.create_branch("x", None).await.unwrap();
        let (long, replacing) = being_replaced(&table, "x").await;
        table.delete_branch("x").await.unwrap();
        if again {
            table.create_branch("x", Some(1)).await.unwrap();
        }
        long.end();
        let refused = replacing.await.unwrap();
        assert_eq!(code(refused), Code::TableBranchNotFound);
        if !again {
            assert_gone(&place, &table, "x").await;
            assert!(!place.path("tree/x/_versions").exists());
            table.create_branch("x", Some(1)).await.unwrap();
        }
        assert_eq!(count(&table, "x").await.unwrap(), 3);
        assert_eq!(count(&place.server(), "x").await.unwrap(), 3);
    }
}

/// The files that it had went with the branch: the next one of that name can't have its rows.
#[tokio::test(flavor = "multi_thread")]
async fn rows_on_their_way_to_a_deleted_branch_are_not_put_into_its_successor() {
    let (place, table) = Place::new().await;
    table.create_branch("x", None).await.unwrap();
    let (long, read) = Long::of(&numbers(0..100_000));
    let branch = table.on_branch(Some("x"));
    let appending = tokio::spawn({
        let branch = branch.clone();
        async move { branch.append(read).await }
    });
    long.begin().await;
    table.delete_branch("x").await.unwrap();
    table.create_branch("x", None).await.unwrap();
    long.end();
    let refused = appending.await.unwrap();
    assert_eq!(code(refused), Code::TableBranchNotFound);
    assert_eq!(count(&table, "x").await.unwrap(), 6);
    branch.append(upload_numbers(6..7)).await.unwrap();
    assert_eq!(count(&place.server(), "x").await.unwrap(), 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn appends_during_the_deletion_of_a_branch_are_in_it_or_refused() {
    let (place, table) = Place::new().await;
    for round in 0..15 {
        table.create_branch("x", Some(1)).await.unwrap();
        assert_eq!(count(&table, "x").await.unwrap(), 3);
        let appends = (0..16).map(|_| {
            let branch = table.on_branch(Some("x"));
            tokio::spawn(async move { branch.append(upload_numbers(0..1)).await })
        });
        let appends: Vec<_> = appends.collect();
        for _ in 0..round {
            tokio::task::yield_now().await;
        }
        table.delete_branch("x").await.unwrap();
        for answer in join_all(appends).await {
            if let Err(refused) = answer.unwrap() {
                assert_eq!(refused.code(), Code::TableBranchNotFound, "{refused}");
            }
        }
        assert!(!place.path("tree/x/_versions").exists());
        assert_gone(&place, &table, "x").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_crash_leaves_of_a_new_branch_is_no_branch_and_takes_no_name() {
    let (place, table) = Place::new().await;
    table.create_branch("x", None).await.unwrap();
    let branch = table.on_branch(Some("x"));
    branch.append(upload_numbers(6..9)).await.unwrap();
    place.half_made("x", LONG_AGO);
    let restarted = place.server();
    assert_gone(&place, &restarted, "x").await;
    assert_eq!(
        code(restarted.delete_branch("x").await),
        Code::TableBranchNotFound
    );
    restarted.create_branch("x", Some(1)).await.unwrap();
    assert_eq!(count(&restarted, "x").await.unwrap(), 3);
    assert_eq!(names(&restarted).await, ["x"]);
    // The first server had the other one open.
    assert_eq!(count(&table, "x").await.unwrap(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_another_server_is_making_is_not_cleared_away() {
    let (place, table) = Place::new().await;
    table.create_branch("x", None).await.unwrap();
    let (reference, aside) = (place.reference("x"), place.path("aside.json"));
    fs::copy(&reference, &aside).unwrap();
    place.half_made("x", Duration::ZERO);
    let other = place.server();
    let creating = tokio::spawn(async move { other.create_branch("x", Some(1)).await });
    // Time enough to clear it away, if it did.
    tokio::time::sleep(Duration::from_millis(500)).await;
    fs::rename(&aside, &reference).unwrap();
    assert_eq!(
        code(creating.await.unwrap()),
        Code::TableBranchAlreadyExists
    );
    assert_eq!(count(&table, "x").await.unwrap(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_another_server_replaces_is_another_branch() {
    let (place, table) = Place::new().await;
    let other = place.server();
    table.create_branch("x", None).await.unwrap();
    let branch = table.on_branch(Some("x"));
    branch.append(upload_numbers(6..9)).await.unwrap();
    assert_eq!(count(&table, "x").await.unwrap(), 9);
    other.delete_branch("x").await.unwrap();
    assert_gone(&place, &table, "x").await;
    other.create_branch("x", Some(1)).await.unwrap();
    // With as many versions as the one before had, and more.
    for n in 3..6 {
        let branch = other.on_branch(Some("x"));
        branch.append(upload_numbers(n..n + 1)).await.unwrap();
    }
    assert_eq!(count(&table, "x").await.unwrap(), 6);
    branch.append(upload_numbers(6..7)).await.unwrap();
    assert_eq!(count(&other, "x").await.unwrap(), 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_under_way_is_not_made_to_the_branch_that_another_server_put_there() {
    for again in [false, true] {
        let (place, table) = Place::new().await;
        let other = place.server();
        table.create_branch("x", None).await.unwrap();
        let (long, replacing) = being_replaced(&table, "x").await;
        other.delete_branch("x").await.unwrap();
        if again {
            other.create_branch("x", None).await.unwrap();
        }
        long.end();
        let refused = replacing.await.unwrap();
        assert_eq!(code(refused), Code::TableBranchNotFound);
        if again {
            assert_eq!(count(&table, "x").await.unwrap(), 6);
            assert_eq!(count(&other, "x").await.unwrap(), 6);
        } else {
            assert_gone(&place, &table, "x").await;
        }
    }
}

/// A branch that began on another branch protects it, and so does a tag. The first of two calls succeeds.
#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_of_a_branch_and_a_new_reference_to_it_exclude_each_other() {
    let (place, table) = Place::new().await;
    for round in 0..20 {
        table.create_branch("x", None).await.unwrap();
        let branch = table.on_branch(Some("x"));
        let (deleted, made) = tokio::join!(table.delete_branch("x"), async {
            match round % 2 {
                0 => branch.create_tag("tag", 2).await,
                _ => branch.create_branch("twig", None).await,
            }
        });
        match made {
            Ok(()) => {
                assert_eq!(code(deleted), Code::InvalidTableState);
                assert_eq!(count(&table, "x").await.unwrap(), 6);
                match round % 2 {
                    0 => table.delete_tag("tag").await.unwrap(),
                    _ => table.delete_branch("twig").await.unwrap(),
                }
                table.delete_branch("x").await.unwrap();
            }
            Err(error) => {
                assert_eq!(error.code(), Code::TableBranchNotFound, "{error}");
                deleted.unwrap();
            }
        }
        assert_gone(&place, &table, "x").await;
    }
}
