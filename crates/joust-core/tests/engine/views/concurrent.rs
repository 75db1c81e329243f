//! Refreshes beside other changes of the view.

use joust_core::Code;

use super::few::{FEW, check, compact, filled, set};
use super::{because, items};
use crate::place::Place;
use crate::sent::upload;

#[tokio::test(flavor = "multi_thread")]
async fn refreshes_at_the_same_time_add_rows_once() {
    let (place, table) = filled().await;
    let engines: Vec<Place> = (0..2).map(|_| place.beside()).collect();
    for round in 0..10 {
        let first = 40 + 10 * round;
        table
            .append(upload(&items(first..first + 10)))
            .await
            .unwrap();
        let (a, b) = tokio::join!(
            FEW.try_refresh(&engines[0], false),
            FEW.try_refresh(&engines[1], false)
        );
        let lost: Vec<_> = [&a, &b]
            .into_iter()
            .filter_map(|done| done.as_ref().err())
            .collect();
        assert!(lost.len() < 2, "{lost:?}");
        for error in lost {
            assert_eq!(error.code(), Code::ConcurrentModification, "{error}");
        }
        check(&place).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compaction_at_the_same_time_changes_no_row() {
    let (place, table) = filled().await;
    let other = place.beside();
    for round in 0..10 {
        let first = 40 + 10 * round;
        table
            .append(upload(&items(first..first + 10)))
            .await
            .unwrap();
        set(&table, "n", "n + 1", &format!("id % 5 = {}", round % 5)).await;
        let view = other.table(FEW.name);
        let (refreshed, _) = tokio::join!(FEW.refresh(&place), compact(&view));
        assert_eq!(because(&refreshed.mode), None);
        check(&place).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_view_without_rows_is_filled_once() {
    for _ in 0..10 {
        let place = Place::new();
        let table = place.table("t");
        table.create(upload(&items(0..20)), false).await.unwrap();
        FEW.create(&place).await;
        let engines: Vec<Place> = (0..2).map(|_| place.beside()).collect();
        let (a, b) = tokio::join!(
            FEW.try_refresh(&engines[0], false),
            FEW.try_refresh(&engines[1], false)
        );
        assert!(a.is_ok() || b.is_ok(), "{a:?} {b:?}");
        check(&place).await;
    }
}
