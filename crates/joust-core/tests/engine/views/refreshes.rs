//! What a refresh computes, and why.

use joust_core::WorkContext;
use joust_core::jobs::view_refresh::Refresh;
use joust_core::table::{Alteration, NewColumn};

use super::few::{FEW, check, clean_up, compact, filled, set};
use super::{View, because, items};
use crate::sent::upload;

#[tokio::test]
async fn a_refresh_computes_the_rows_that_changed() {
    let (place, table) = filled().await;
    for (change, written, removed) in [
        ("insert", 3, 0),
        ("update", 2, 2),
        ("delete", 0, 3),
        ("move out", 0, 1),
        ("move in", 1, 0),
    ] {
        match change {
            "insert" => drop(table.append(upload(&items(40..44))).await.unwrap()),
            "update" => set(&table, "n", "n - 7", "id IN (1, 21, 23)").await,
            "delete" => drop(table.delete("id IN (4, 5, 6, 7)").await.unwrap()),
            "move out" => set(&table, "kind", "3", "id = 8").await,
            _ => set(&table, "kind", "0", "id = 8").await,
        }
        assert_eq!(FEW.full_because(&place).await, None);
        let refreshed = FEW.refresh(&place).await;
        assert_eq!(because(&refreshed.mode), None, "{change}");
        assert_eq!(
            (refreshed.rows_written, refreshed.rows_removed),
            (written, removed),
            "{change}"
        );
        check(&place).await;
    }
}

#[tokio::test]
async fn a_refresh_runs_in_several_partitions() {
    let (place, table) = filled().await;
    for from in [40, 60, 80] {
        table.append(upload(&items(from..from + 20))).await.unwrap();
        set(&table, "n", "n + 1", "id % 3 = 0").await;
        let refresh = Refresh {
            sources: FEW.sources(&place),
            full: false,
            max_rows_per_fragment: Some(7),
            concurrency: Some(4),
            ..Refresh::default()
        };
        let work = WorkContext::default();
        let refreshed = place.table(FEW.name).refresh_view(&refresh, &work).await;
        assert_eq!(because(&refreshed.unwrap().mode), None);
        check(&place).await;
    }
}

#[tokio::test]
async fn a_column_named_as_the_row_id_is_no_row_id() {
    let (place, table) = filled().await;
    const NAMED: View = View {
        name: "named",
        sql: "SELECT s._rowid AS r FROM (SELECT id + 100 AS _rowid FROM t) AS s",
        sources: &["t"],
    };
    NAMED.create(&place).await;
    table.delete("id > 1").await.unwrap();
    let refreshed = NAMED.refresh(&place).await;
    assert!(because(&refreshed.mode).unwrap().contains("`_rowid`"));
    assert_eq!(NAMED.rows(&place).await, ["100", "101"]);
}

#[tokio::test]
async fn a_refresh_without_changes_commits_nothing() {
    let (place, table) = filled().await;
    let before = FEW.dataset(&place).await.version_id();
    let refreshed = FEW.refresh(&place).await;
    assert_eq!((refreshed.version, refreshed.rows_written), (before, 0));
    assert_eq!(because(&refreshed.mode), None);
    assert_eq!(FEW.dataset(&place).await.version_id(), before);
    // A compaction is a version without changed rows: the view only records it.
    assert_eq!(compact(&table).await.fragments_removed, 2);
    let refreshed = FEW.refresh(&place).await;
    assert_eq!(
        (
            refreshed.version,
            refreshed.rows_written,
            refreshed.rows_removed
        ),
        (before + 1, 0, 0)
    );
    assert_eq!(because(&refreshed.mode), None);
    check(&place).await;
}

#[tokio::test]
async fn a_refresh_follows_a_compaction_of_the_view() {
    let (place, table) = filled().await;
    table.append(upload(&items(40..60))).await.unwrap();
    FEW.refresh(&place).await;
    let view = place.table(FEW.name);
    assert_eq!(compact(&view).await.fragments_added, 1);
    set(&table, "n", "0", "id > 10 AND id < 50").await;
    let refreshed = FEW.refresh(&place).await;
    assert_eq!(because(&refreshed.mode), None);
    check(&place).await;
}

#[tokio::test]
async fn values_that_a_column_got_without_a_change_of_rows_are_read() {
    let (place, table) = filled().await;
    let rename = |path: &str, to: &str| Alteration {
        path: path.into(),
        rename: Some(to.into()),
        nullable: None,
        data_type: None,
    };
    // `n` is another column then.
    table.drop_columns(&["n".into()]).await.unwrap();
    table.alter_columns(&[rename("kind", "n")]).await.unwrap();
    table
        .add_columns(&[NewColumn::Expression {
            name: "kind".into(),
            expression: "id % 2 + 2".into(),
        }])
        .await
        .unwrap();
    let refreshed = FEW.refresh(&place).await;
    assert_eq!(
        because(&refreshed.mode).unwrap(),
        "a column of the source that the query reads has changed"
    );
    check(&place).await;
}

#[tokio::test]
async fn changes_of_columns_that_the_query_does_not_read_compute_no_row() {
    let (place, table) = filled().await;
    let unread = |name: &str| NewColumn::Expression {
        name: name.into(),
        expression: "id * 2".into(),
    };
    table.add_columns(&[unread("unread")]).await.unwrap();
    assert_eq!(FEW.full_because(&place).await, None);
    let refreshed = FEW.refresh(&place).await;
    assert_eq!(because(&refreshed.mode), None);
    assert_eq!((refreshed.rows_written, refreshed.rows_removed), (0, 0));
    table.drop_columns(&["unread".into()]).await.unwrap();
    table.add_columns(&[unread("other")]).await.unwrap();
    set(&table, "n", "0", "id = 1 OR id = 22").await;
    table.append(upload(&items(40..44))).await.unwrap();
    let refreshed = FEW.refresh(&place).await;
    assert_eq!(because(&refreshed.mode), None);
    assert_eq!((refreshed.rows_written, refreshed.rows_removed), (5, 2));
    check(&place).await;
}

#[tokio::test]
async fn all_rows_are_computed_if_the_changes_are_unknown() {
    for (change, reason) in [
        ("restore", "the source was restored or overwritten"),
        (
            "clean up",
            "the source's version of the last refresh is cleaned up",
        ),
        ("replace", "the source is another table"),
    ] {
        let (place, table) = filled().await;
        let before = FEW.dataset(&place).await.version_id();
        table.delete("id < 10").await.unwrap();
        match change {
            "restore" => drop(table.restore(1).await.unwrap()),
            "clean up" => {
                assert_eq!(clean_up(&table).await, 2);
            }
            _ => {
                std::fs::remove_dir_all(place.location("t")).unwrap();
                let other = place.table("t");
                other.create(upload(&items(5..25)), false).await.unwrap();
                for from in [25, 30, 35] {
                    other.append(upload(&items(from..from + 5))).await.unwrap();
                }
            }
        }
        let said = FEW.full_because(&place).await.unwrap();
        let refreshed = FEW.refresh(&place).await;
        assert_eq!(because(&refreshed.mode).unwrap(), said);
        assert!(said.starts_with(reason), "{said}");
        assert_eq!(refreshed.version, before + 1);
        check(&place).await;
        assert_eq!(FEW.full_because(&place).await, None);
    }
}

#[tokio::test]
async fn a_query_over_more_than_one_row_is_computed_in_full() {
    let (place, table) = filled().await;
    let other = place.table("u");
    other.create(upload(&items(0..3)), false).await.unwrap();
    for (number, (sql, reason)) in [
        ("SELECT t.id FROM t JOIN u ON t.id = u.id", "joins tables"),
        (
            "SELECT count(*) AS c FROM t GROUP BY kind",
            "not a column of the result",
        ),
        (
            "SELECT n / 2.5 AS f, count(*) AS c FROM t GROUP BY n / 2.5",
            "floating-point",
        ),
        (
            "SELECT kind, count(*) AS c FROM (SELECT DISTINCT kind FROM t) GROUP BY kind",
            "more than the rows of one table",
        ),
        (
            "SELECT id, row_number() OVER (ORDER BY id) AS r FROM t",
            "window functions",
        ),
        ("SELECT id FROM t ORDER BY id", "ORDER BY"),
        ("SELECT id FROM t LIMIT 3", "LIMIT"),
        ("SELECT DISTINCT kind FROM t", "DISTINCT"),
        ("SELECT id FROM t UNION ALL SELECT id FROM t", "UNION"),
        (
            "SELECT id FROM t WHERE id IN (SELECT id FROM u)",
            "subquery",
        ),
        ("SELECT id, now() AS at FROM t", "now()"),
        ("SELECT id, random() AS r FROM t", "result changes"),
        ("SELECT 1 AS one", "no table"),
    ]
    .into_iter()
    .enumerate()
    {
        let names = [
            "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m",
        ];
        let view = View {
            name: names[number],
            sql,
            sources: match sql {
                _ if sql.contains('u') && sql.contains(" u") => &["t", "u"],
                "SELECT 1 AS one" => &[],
                _ => &["t"],
            },
        };
        view.create(&place).await;
        let said = view.full_because(&place).await.unwrap();
        assert!(said.contains(reason), "{sql}: {said}");
        for _ in 0..2 {
            let refreshed = view.refresh(&place).await;
            assert_eq!(because(&refreshed.mode).unwrap(), said, "{sql}");
        }
    }
    drop(table);
}
