//! What readers and writers see while a deletion of a branch is stopped in the middle.

use std::fs;
use std::future::Future;
use std::pin::{Pin, pin};
use std::time::{Duration, Instant};

use futures::poll;
use joust_core::{Code, Table};

use super::place::Place;
use super::{assert_gone, code, count, names};
use crate::sent::upload_numbers;

/// Longer than a tick of the file system: from then on, the time of a directory proves that it did not change.
const SETTLED: Duration = Duration::from_millis(100);

/// Runs the deletion until `reached`, and stops it there. Steps that it has begun come to their end.
async fn run_until<D: Future>(mut deletion: Pin<&mut D>, reached: impl Fn() -> bool) {
    while !reached() {
        assert!(poll!(&mut deletion).is_pending(), "the deletion has ended");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// A branch `x` that two servers have open.
async fn opened_twice(name: &str, pause: Duration) -> (Place, [Table; 2]) {
    let (place, table) = Place::new().await;
    table.create_branch(name, None).await.unwrap();
    let other = place.server();
    tokio::time::sleep(pause).await;
    for server in [&table, &other] {
        assert_eq!(count(server, name).await.unwrap(), 6);
        assert_eq!(names(server).await, [name]);
        // The next read of it needs no access to the table but for the state of its directory.
        assert!(server.on_branch(Some(name)).peek().is_some());
    }
    (place, [table, other])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_is_not_listed_is_found_by_no_read() {
    for pause in [Duration::ZERO, SETTLED] {
        for name in ["x", "team/x"] {
            let (place, servers) = opened_twice(name, pause).await;
            let reference = place.reference(name);
            let mut deletion = pin!(servers[0].delete_branch(name));
            run_until(deletion.as_mut(), || !reference.exists()).await;
            let mut counted = Vec::new();
            for server in &servers {
                assert!(names(server).await.is_empty());
                counted.push(count(server, name).await.map_err(|error| error.code()));
            }
            assert_eq!(counted, [Err(Code::TableBranchNotFound); 2], "`{name}`");
            deletion.await.unwrap();
            assert_gone(&place, &servers[0], name).await;
            // The next branch of that name is not taken for a deleted one.
            servers[1].create_branch(name, Some(1)).await.unwrap();
            for server in &servers {
                assert_eq!(count(server, name).await.unwrap(), 3);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_whose_deletion_fails_stays_and_can_be_deleted_again() {
    for pause in [Duration::ZERO, SETTLED] {
        // On a busy machine, most deletions pass the mark within one poll.
        let started = Instant::now();
        while !deletion_fails(pause).await {
            assert!(
                started.elapsed() < Duration::from_secs(60),
                "the deletion does not stop at its mark"
            );
        }
    }
}

/// False: the deletion did not stop between its mark and the removal of the reference.
async fn deletion_fails(pause: Duration) -> bool {
    let (place, servers) = opened_twice("x", pause).await;
    let (reference, aside) = (place.reference("x"), place.path("aside.json"));
    let mark = place.path("tree/x/_versions/being_deleted");
    let mut deletion = pin!(servers[0].delete_branch("x"));
    run_until(deletion.as_mut(), || mark.exists()).await;
    // A step after the mark may have begun with it.
    tokio::time::sleep(SETTLED).await;
    if !reference.exists() {
        return false;
    }
    for server in &servers {
        assert_eq!(names(server).await, ["x"]);
        assert_eq!(count(server, "x").await.unwrap(), 6);
        assert!(server.on_branch(Some("x")).peek().is_none());
    }
    // A directory is not removed as a file is.
    fs::rename(&reference, &aside).unwrap();
    fs::create_dir(&reference).unwrap();
    assert!(deletion.await.is_err());
    fs::remove_dir(&reference).unwrap();
    fs::rename(&aside, &reference).unwrap();
    assert!(!mark.exists());
    for (server, rows) in servers.iter().zip([7, 8]) {
        let branch = server.on_branch(Some("x"));
        branch.append(upload_numbers(6..7)).await.unwrap();
        for server in &servers {
            assert_eq!(count(server, "x").await.unwrap(), rows);
            assert!(server.on_branch(Some("x")).peek().is_some());
        }
    }
    servers[1].delete_branch("x").await.unwrap();
    assert_gone(&place, &servers[0], "x").await;
    true
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_waits_for_a_deletion_is_refused() {
    let (place, servers) = opened_twice("x", SETTLED).await;
    let reference = place.reference("x");
    let mut deletion = pin!(servers[0].delete_branch("x"));
    run_until(deletion.as_mut(), || !reference.exists()).await;
    let writes = servers.each_ref().map(|server| {
        let branch = server.on_branch(Some("x"));
        tokio::spawn(async move { branch.append(upload_numbers(6..7)).await })
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    deletion.await.unwrap();
    for write in writes {
        assert_eq!(code(write.await.unwrap()), Code::TableBranchNotFound);
    }
    assert!(!place.path("tree/x/_versions").exists());
    assert_gone(&place, &servers[0], "x").await;
}

/// A crash leaves the mark of a deletion beside the reference.
#[tokio::test(flavor = "multi_thread")]
async fn a_branch_whose_deletion_crashed_exists_as_long_as_its_reference() {
    let (place, servers) = opened_twice("x", SETTLED).await;
    fs::write(place.path("tree/x/_versions/being_deleted"), b"").unwrap();
    let branch = servers[1].on_branch(Some("x"));
    branch.append(upload_numbers(6..7)).await.unwrap();
    for server in &servers {
        assert_eq!(count(server, "x").await.unwrap(), 7);
    }
    fs::remove_file(place.reference("x")).unwrap();
    for server in &servers {
        assert_eq!(code(count(server, "x").await), Code::TableBranchNotFound);
        assert_gone(&place, server, "x").await;
    }
    servers[0].create_branch("x", Some(1)).await.unwrap();
    for server in &servers {
        assert_eq!(count(server, "x").await.unwrap(), 3);
    }
}
