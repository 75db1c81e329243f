//! A view of some rows of a table.

use std::time::Duration;

use joust_core::jobs::maintenance::{Compact, Compacted};
use joust_core::table::Update;
use joust_core::{Table, WorkContext};

use super::{View, because, items};
use crate::place::Place;
use crate::sent::upload;

pub const FEW: View = View {
    name: "few",
    sql: "SELECT id, n + 1 AS m, upper(name) AS name FROM t WHERE kind < 3",
    sources: &["t"],
};

/// A table of 40 rows in two fragments, and the view of 30 of them, which is filled.
pub async fn filled() -> (Place, Table) {
    let place = Place::new();
    let table = place.table("t");
    table.create(upload(&items(0..20)), false).await.unwrap();
    table.append(upload(&items(20..40))).await.unwrap();
    FEW.create(&place).await;
    let filled = FEW.refresh(&place).await;
    assert_eq!((filled.rows_written, filled.rows_removed), (30, 0));
    assert!(because(&filled.mode).unwrap().contains("no refresh"));
    (place, table)
}

pub async fn set(table: &Table, column: &str, value: &str, predicate: &str) {
    let update = Update {
        set: vec![(column.into(), value.into())],
        predicate: Some(predicate.into()),
    };
    table.update(update).await.unwrap();
}

/// Cleans up until no version is in use, and returns how many versions it removed: a task of Lance may keep the dataset
/// of a finished query a little longer.
pub async fn clean_up(table: &Table) -> u64 {
    let cleaned = async {
        let mut versions = 0;
        loop {
            let cleaned = table.clean_up(Duration::ZERO, None).await.unwrap();
            versions += cleaned.versions;
            if cleaned.in_use == 0 {
                return versions;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let limit = Duration::from_secs(30);
    tokio::time::timeout(limit, cleaned).await.unwrap()
}

pub async fn compact(table: &Table) -> Compacted {
    let work = WorkContext::default();
    table.compact(&Compact::default(), &work).await.unwrap()
}

/// Checks the rows of the view against those of one that is computed in full.
pub async fn check(place: &Place) {
    let twin = View {
        name: "twin",
        ..FEW
    };
    if place.table("twin").view().await.is_err() {
        twin.create(place).await;
    }
    let full = twin.try_refresh(place, true).await.unwrap();
    assert_eq!(
        because(&full.mode).unwrap(),
        "the request asks for a full refresh"
    );
    assert_eq!(FEW.rows(place).await, twin.rows(place).await);
}
