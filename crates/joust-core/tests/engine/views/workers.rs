//! Views whose rows workers compute.

use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use joust_core::jobs::remote::{Part, RemoteWork};
use joust_core::{Code, Error};
use serde_json::json;

use super::worker::{part, refresh};
use super::{View, items};
use crate::orders::next_order;
use crate::place::Place;
use crate::sent::upload;

const PLAIN: View = View {
    name: "v",
    sql: "SELECT id, n + 1 AS m, upper(name) AS name FROM t WHERE kind < 3",
    sources: &["t"],
};

/// A table of two fragments, of which a row is deleted.
pub async fn place() -> Place {
    let place = Place::new();
    let table = place.table("t");
    table.create(upload(&items(0..20)), false).await.unwrap();
    table.append(upload(&items(20..30))).await.unwrap();
    table.delete("id = 4").await.unwrap();
    place
}

pub const fn over_t(sql: &'static str) -> View {
    View {
        name: "v",
        sql,
        sources: &["t"],
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_get_the_queries_of_one_table_that_they_can_run() {
    for (sql, is_remote) in [
        (PLAIN.sql, true),
        ("SELECT * FROM t", true),
        (
            "SELECT name AS `Name`, id FROM t AS x WHERE x.id BETWEEN 3 AND 12 OR name LIKE '%5'",
            true,
        ),
        (
            "SELECT s.a + s.a AS b FROM (SELECT id * 2 AS a FROM t WHERE n IS NOT NULL) AS s WHERE s.a > 10",
            true,
        ),
        (
            "SELECT id, name FROM t WHERE name IN ('name 1', 'it''s', 'name 3') AND NOT kind = 2",
            true,
        ),
        (
            "SELECT CAST(id AS DOUBLE) / 4 AS q, length(name) AS l FROM t",
            true,
        ),
        (
            "SELECT 100 / n AS q FROM t WHERE n <> 0 AND n > 0 AND id > 0 AND kind < 3",
            true,
        ),
        (
            "SELECT id FROM t WHERE id = 1 OR n = 6 OR name = 'x' OR kind = 2 OR id = 9",
            true,
        ),
        // Expressions that Lance does not have, or reads in another way. DataFusion computes them over scanned rows.
        (
            "SELECT CASE WHEN n IS NULL THEN -1 ELSE n END AS m FROM t",
            true,
        ),
        (
            "SELECT CASE kind WHEN 1 THEN CAST(id AS INT) + 1 END AS a, 'it''s' AS `b \"c\"`, name FROM t WHERE kind <> 2",
            true,
        ),
        (
            "SELECT id FROM t WHERE CASE WHEN id < 9 THEN name LIKE '%3' ELSE kind = 1 END",
            true,
        ),
        (
            "SELECT CASE s.a WHEN 4 THEN 'four' END AS b, s.c FROM \
             (SELECT id * 2 AS a, upper(name) AS c FROM t WHERE n > 6) AS s WHERE s.a <> 20",
            true,
        ),
        (
            "SELECT id, DATE '2026-01-02' + INTERVAL '3 days' AS d FROM t WHERE id > 3",
            true,
        ),
        (
            "SELECT [id, n][2] AS e, TRY_CAST(name AS INT) AS y FROM t",
            true,
        ),
        // The unparser of DataFusion writes it in another way.
        ("SELECT named_struct('x', id)['x'] AS x FROM t", false),
        // The functions of Lance are not those of DataFusion.
        (
            "SELECT CASE WHEN contains_tokens(name, '3') THEN id END AS a FROM t",
            false,
        ),
        ("SELECT contains_tokens(name, '3') AS a FROM t", true),
    ] {
        let place = place().await;
        let view = over_t(sql);
        let twin = View {
            name: "twin",
            ..view
        };
        view.create(&place).await;
        twin.create(&place).await;
        let (refreshed, had_work) = refresh(&view, &place, false).await;
        refreshed.unwrap();
        twin.refresh(&place).await;
        assert_eq!(view.rows(&place).await, twin.rows(&place).await, "{sql}");
        assert_eq!(had_work, is_remote, "{sql}");
    }
}

/// A nested query repeats the expression of the inner one four times.
#[tokio::test(flavor = "multi_thread")]
async fn an_expression_that_is_too_large_stays_here() {
    let place = place().await;
    let mut sql = "SELECT id AS a FROM t".to_string();
    for step in 0..7 {
        let own = format!("s{step}.a");
        sql = format!("SELECT {own} + {own} + {own} + {own} AS a FROM ({sql}) AS s{step}");
    }
    let view = over_t(sql.leak());
    view.create(&place).await;
    let (refreshed, had_work) = refresh(&view, &place, false).await;
    assert_eq!(refreshed.unwrap().rows_written, 29);
    assert!(!had_work);
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_compute_changed_rows() {
    let with_case = over_t(
        "SELECT id, CASE WHEN n IS NULL THEN 0 ELSE n + 1 END AS m, name FROM t WHERE kind < 3",
    );
    for view in [PLAIN, with_case] {
        compute_changed_rows(view).await;
    }
}

async fn compute_changed_rows(view: View) {
    let place = place().await;
    view.create(&place).await;
    refresh(&view, &place, false).await.0.unwrap();
    place
        .table("t")
        .append(upload(&items(30..33)))
        .await
        .unwrap();
    place.table("t").delete("id = 5").await.unwrap();
    let (refreshed, had_work) = refresh(&view, &place, false).await;
    let refreshed = refreshed.unwrap();
    assert!(had_work);
    // The row 31 has kind 3.
    assert_eq!((refreshed.rows_written, refreshed.rows_removed), (2, 1));
    // Only rows of the source are deleted: no worker is needed.
    place.table("t").delete("id = 6").await.unwrap();
    let (refreshed, had_work) = refresh(&view, &place, false).await;
    assert_eq!(refreshed.unwrap().rows_removed, 1);
    assert!(!had_work);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_a_fragment_is_refused() {
    let place = Arc::new(place().await);
    PLAIN.create(&place).await;
    let remote = RemoteWork::new(0);
    let refreshed = tokio::spawn({
        let (place, remote) = (place.clone(), remote.clone());
        async move { PLAIN.refresh_with(&place, false, Some(remote)).await }
    });
    let (_, order) = next_order(&remote, 0).await;
    assert_eq!(order.tasks.len(), 2);
    let good = part(&order, &order.tasks[0]).await;
    for (wrong, reason) in wrong_parts(&place, &good) {
        let error = remote.deliver(wrong).await.unwrap_err();
        assert_eq!(error.code(), Code::InvalidInput, "{error}");
        assert!(error.message().contains(reason), "{error}");
    }
    assert!(remote.deliver(good.clone()).await.unwrap());
    // The file belongs to the other fragment now.
    let again = Part {
        key: order.tasks[1].key.clone(),
        ..good
    };
    let error = remote.deliver(again).await.unwrap_err();
    assert!(
        error.message().contains("belongs to another task"),
        "{error}"
    );
    let other = part(&order, &order.tasks[1]).await;
    assert!(remote.deliver(other).await.unwrap());
    assert_eq!(refreshed.await.unwrap().unwrap().rows_written, 22);
    let twin = View {
        name: "twin",
        ..PLAIN
    };
    twin.create(&place).await;
    twin.refresh(&place).await;
    assert_eq!(PLAIN.rows(&place).await, twin.rows(&place).await);
}

/// Parts of the first task, each with what its refusal says.
fn wrong_parts(place: &Place, good: &Part) -> Vec<(Part, &'static str)> {
    let changed = |member: &str, value| {
        let mut part = good.clone();
        part.result[member] = value;
        part
    };
    let bits = good.result["selected"].as_str().unwrap();
    let bits = STANDARD.decode(bits).unwrap();
    let with = |at: usize, to: bool| {
        let mut bits = bits.clone();
        match to {
            true => bits[at / 8] |= 1 << (at % 8),
            false => bits[at / 8] &= !(1 << (at % 8)),
        }
        json!(STANDARD.encode(bits))
    };
    let moved = {
        // As many rows as before: the deleted one in the place of another one.
        let mut bits = bits.clone();
        bits[0] = (bits[0] & !1) | 1 << 4;
        json!(STANDARD.encode(bits))
    };
    let file = good.result["files"][0].clone();
    let data = |table: &str| Path::new(&place.location(table)).join("data");
    let of_table = std::fs::read_dir(data("t")).unwrap().next();
    let of_table = of_table.unwrap().unwrap().path();
    std::fs::copy(of_table, data("v").join("copied.lance")).unwrap();
    vec![
        (changed("selected", with(0, false)), "selected 13 rows"),
        (changed("selected", with(3, true)), "selected 15 rows"),
        (changed("selected", moved), "of which 13 exist"),
        (changed("selected", json!(null)), "lacks a valid bitmap"),
        (changed("selected", json!("%")), "lacks a valid bitmap"),
        (changed("files", json!([])), "has written 0 rows"),
        (changed("files", json!([file, file])), "is there twice"),
        (
            changed("files", json!(["../x.lance"])),
            "has an invalid name",
        ),
        (changed("files", json!(["absent.lance"])), "is not at"),
        (
            changed("files", json!(["copied.lance"])),
            "has other columns",
        ),
        (changed("failed", json!(1)), "counts of a worker"),
    ]
}

/// Otherwise tasks that run while a server starts again would be done for nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_task_has_the_same_key_on_each_server() {
    let place = place().await;
    PLAIN.create(&place).await;
    let mut keys = Vec::new();
    for _ in 0..8 {
        let (server, remote) = (place.beside(), RemoteWork::new(0));
        let refreshed = tokio::spawn({
            let remote = remote.clone();
            async move { PLAIN.refresh_with(&server, false, Some(remote)).await }
        });
        let (_, order) = next_order(&remote, 0).await;
        refreshed.abort();
        let tasks = order.tasks.iter().map(|task| task.key.clone());
        keys.push(tasks.collect::<Vec<_>>());
    }
    assert!(keys.iter().all(|one| *one == keys[0]), "{keys:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_of_the_workers_leaves_the_view_as_it_is() {
    let place = place().await;
    PLAIN.create(&place).await;
    PLAIN.refresh(&place).await;
    let before = PLAIN.rows(&place).await;
    let remote = RemoteWork::new(0);
    remote.fail(Error::new(Code::Internal, "no workers"));
    let failed = PLAIN.refresh_with(&place, true, Some(remote)).await;
    assert_eq!(failed.unwrap_err().message(), "no workers");
    assert_eq!(PLAIN.rows(&place).await, before);
    let small = RemoteWork::new(1 << 30);
    small.fail(Error::new(Code::Internal, "no workers"));
    PLAIN.refresh_with(&place, true, Some(small)).await.unwrap();
}
