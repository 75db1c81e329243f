//! Views that a worker computes as a whole.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use joust_core::Code;
use joust_core::jobs::remote::{Part, RemoteWork};
use serde_json::json;

use super::worker::{part, refresh};
use super::workers::{over_t, place};
use super::{View, because, items};
use crate::orders::next_order;
use crate::place::Place;
use crate::sent::upload;

const GROUPS: View = over_t(
    "SELECT kind, count(*) AS c, sum(n) AS s, min(id) AS lo, max(name) AS hi FROM t GROUP BY kind",
);

/// Two tables: `t`, and `u` with every other id of it.
async fn two_tables() -> Place {
    let place = place().await;
    let table = place.table("u");
    let ids = (0..40).step_by(2);
    table.create(upload(&items(ids)), false).await.unwrap();
    place
}

/// Refreshes a view with a worker and a twin of it without. Returns whether the worker had work.
async fn is_on_worker(place: &Place, view: View) -> bool {
    let twin = View {
        name: "twin",
        ..view
    };
    view.create(place).await;
    twin.create(place).await;
    let (refreshed, had_work) = refresh(&view, place, false).await;
    refreshed.unwrap();
    twin.refresh(place).await;
    assert_eq!(
        view.rows(place).await,
        twin.rows(place).await,
        "{}",
        view.sql
    );
    had_work
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_computes_whole_queries_as_the_server_does() {
    for sql in [
        GROUPS.sql,
        "SELECT count(*) AS c, sum(n) AS s FROM t WHERE kind > 0",
        "SELECT n % 5 AS g, avg(n) AS a, count(DISTINCT kind) AS k FROM t GROUP BY n % 5 HAVING count(*) > 1",
        "SELECT t.id, u.name AS other FROM t JOIN u ON t.id = u.id WHERE t.kind < 3",
        "SELECT t.id, u.n FROM t LEFT JOIN u ON t.id + 1 = u.id",
        "SELECT DISTINCT kind, name FROM t",
        "SELECT id, name FROM t ORDER BY n DESC NULLS LAST, id LIMIT 7 OFFSET 2",
        "SELECT id, row_number() OVER (PARTITION BY kind ORDER BY id) AS r FROM t",
        "SELECT id FROM t UNION ALL SELECT n FROM u",
        "SELECT id FROM t WHERE id IN (SELECT id FROM u WHERE n > 9) AND id NOT IN (SELECT n FROM u WHERE n IS NOT NULL)",
        "SELECT id, (SELECT max(id) FROM u) AS most FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.id)",
        "WITH few AS (SELECT * FROM t WHERE kind = 1) SELECT a.name AS `A`, count(*) AS c FROM few AS a, u GROUP BY a.name",
        "SELECT s.a + s.a AS a, count(*) AS c FROM (SELECT CASE WHEN kind = 2 THEN 1 ELSE kind END AS a FROM t) AS s GROUP BY 1",
        "SELECT a + a AS a, count(*) AS c FROM (SELECT id + id AS a FROM t) GROUP BY a + a",
        "SELECT name, sum(id) FILTER (WHERE n IS NULL) AS s, array_agg(id ORDER BY id DESC) AS ids FROM t GROUP BY name",
        "SELECT kind, name, count(*) AS c FROM t GROUP BY ROLLUP (kind, name)",
        "SELECT unnest([id, n]) AS one FROM t",
        "SELECT id, now() > TIMESTAMP '2020-01-01' AS b FROM t",
    ] {
        let place = two_tables().await;
        let sources: &[&str] = match sql.contains(" u") {
            true => &["t", "u"],
            false => &["t"],
        };
        let view = View {
            name: "v",
            sql,
            sources,
        };
        assert!(is_on_worker(&place, view).await, "{sql}");
    }
}

/// Its session has no function of Lance.
#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_a_worker_cannot_plan_stays_here() {
    let place = place().await;
    let sql = "SELECT kind, count(*) AS c FROM t WHERE contains_tokens(name, '3') GROUP BY kind";
    assert!(!is_on_worker(&place, over_t(sql)).await);
}

/// To Lance, which has the conditions, -0.0 and 0.0 are equal; to DataFusion they are not.
#[tokio::test(flavor = "multi_thread")]
async fn zeros_of_both_signs_are_compared_as_in_the_server() {
    for (sql, is_remote) in [
        ("SELECT id, x = 0.0 AS b FROM t", true),
        (
            "SELECT id, CASE WHEN x < 0.0 THEN 1 WHEN x = 0 THEN 2 END AS b FROM t",
            true,
        ),
        ("SELECT id FROM t WHERE x = 0.0", true),
        (
            "SELECT count(*) AS c, sum(x) AS s FROM t WHERE x >= 0.0",
            true,
        ),
        (
            "SELECT x, count(*) AS c FROM t WHERE CASE WHEN id < 3 THEN x = 0.0 ELSE true END GROUP BY x",
            true,
        ),
        (
            "SELECT id FROM t WHERE CASE WHEN id < 3 THEN x = 0.0 ELSE true END",
            false,
        ),
        (
            "SELECT id FROM t WHERE CASE WHEN id < 3 THEN id IN (-0.0, 7.5) ELSE true END",
            false,
        ),
    ] {
        let place = Place::new();
        let zeros = Float64Array::from(vec![-0.0, 0.0, 1.0, -1.0, -0.0, f64::NAN]);
        let rows = RecordBatch::try_from_iter_with_nullable([
            (
                "id",
                Arc::new(Int64Array::from_iter_values(0..6)) as ArrayRef,
                true,
            ),
            ("x", Arc::new(zeros), true),
        ]);
        let table = place.table("t");
        table.create(upload(&rows.unwrap()), false).await.unwrap();
        assert_eq!(is_on_worker(&place, over_t(sql)).await, is_remote, "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_of_a_worker_are_refreshed_incrementally() {
    let place = place().await;
    assert!(is_on_worker(&place, GROUPS).await);
    let table = place.table("t");
    table.append(upload(&items(30..33))).await.unwrap();
    table.delete("id = 5").await.unwrap();
    let (refreshed, had_work) = refresh(&GROUPS, &place, false).await;
    let refreshed = refreshed.unwrap();
    assert!(!had_work);
    assert_eq!(because(&refreshed.mode), None);
    // Of the kinds 2, 3, 0 and 1.
    assert_eq!((refreshed.rows_written, refreshed.rows_removed), (4, 4));
    let full = View {
        name: "full",
        ..GROUPS
    };
    full.create(&place).await;
    full.refresh(&place).await;
    assert_eq!(GROUPS.rows(&place).await, full.rows(&place).await);
    // A view over it.
    let second = View {
        name: "second",
        sql: "SELECT kind, c * 2 AS d FROM v",
        sources: &["v"],
    };
    assert!(is_on_worker_again(&place, second).await);
}

/// The same as [`is_on_worker`] in a place where the twin's name is taken.
async fn is_on_worker_again(place: &Place, view: View) -> bool {
    view.create(place).await;
    let (refreshed, had_work) = refresh(&view, place, false).await;
    assert_eq!(refreshed.unwrap().rows_written, 4);
    had_work
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_result_needs_no_file() {
    let place = place().await;
    let view = over_t("SELECT kind, count(*) AS c FROM t WHERE id < 0 GROUP BY kind");
    assert!(is_on_worker(&place, view).await);
    assert!(view.rows(&place).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_do_not_fit_the_view_are_refused() {
    let place = Arc::new(place().await);
    GROUPS.create(&place).await;
    let remote = RemoteWork::new(0);
    let refreshed = tokio::spawn({
        let (place, remote) = (place.clone(), remote.clone());
        async move { GROUPS.refresh_with(&place, false, Some(remote)).await }
    });
    let (_, order) = next_order(&remote, 0).await;
    let [task] = order.tasks.as_slice() else {
        unreachable!("an order of several tasks")
    };
    let good = part(&order, task).await;
    let file = good.result["files"][0].clone();
    for (files, reason) in [
        (json!([file, file]), "is there twice"),
        (json!(["../x.lance"]), "has an invalid name"),
        (json!(["absent.lance"]), "is not at"),
        (json!(null), "is invalid"),
    ] {
        let wrong = Part {
            key: task.key.clone(),
            result: json!({ "files": files }),
        };
        let error = remote.deliver(wrong).await.unwrap_err();
        assert_eq!(error.code(), Code::InvalidInput, "{error}");
        assert!(error.message().contains(reason), "{error}");
    }
    assert!(remote.deliver(good).await.unwrap());
    assert_eq!(refreshed.await.unwrap().unwrap().rows_written, 4);
}

/// Otherwise a task that runs while a server starts again would be done for nothing.
#[tokio::test(flavor = "multi_thread")]
async fn the_task_has_the_same_key_until_a_source_changes() {
    let place = place().await;
    GROUPS.create(&place).await;
    let key = async || {
        let (server, remote) = (place.beside(), RemoteWork::new(0));
        let refreshed = tokio::spawn({
            let remote = remote.clone();
            async move { GROUPS.refresh_with(&server, false, Some(remote)).await }
        });
        let (_, order) = next_order(&remote, 0).await;
        refreshed.abort();
        order.tasks[0].key.clone()
    };
    let first = key().await;
    assert_eq!(first, key().await);
    place.table("t").delete("id = 7").await.unwrap();
    assert_ne!(first, key().await);
}
