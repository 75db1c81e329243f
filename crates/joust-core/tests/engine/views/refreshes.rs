//! What a refresh computes, and why.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, DictionaryArray, RecordBatch};
use arrow::datatypes::{DataType, Field, Int32Type, Schema};
use joust_core::Code;
use joust_core::jobs::maintenance::{Compact, Compacted};
use joust_core::jobs::view_refresh::Refresh;
use joust_core::table::{Alteration, Update};
use joust_core::{Table, WorkContext};

use super::{View, because, items};
use crate::place::Place;
use crate::sent::upload;

const FEW: View = View {
    name: "few",
    sql: "SELECT id, n + 1 AS m, upper(name) AS name FROM t WHERE kind < 3",
    sources: &["t"],
};

/// A table of 40 rows in two fragments, and the view of 30 of them, which is filled.
async fn filled() -> (Place, Table) {
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

async fn set(table: &Table, column: &str, value: &str, predicate: &str) {
    let update = Update {
        set: vec![(column.into(), value.into())],
        predicate: Some(predicate.into()),
    };
    table.update(update).await.unwrap();
}

async fn compact(table: &Table) -> Compacted {
    let work = WorkContext::default();
    table.compact(&Compact::default(), &work).await.unwrap()
}

/// Checks the rows of the view against those of one that is computed in full.
async fn check(place: &Place) {
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
async fn a_refresh_computes_the_groups_that_changed() {
    let (place, table) = filled().await;
    const GROUPS: View = View {
        name: "groups",
        sql: "SELECT id / 10 AS ten, count(*) AS c, sum(n) AS s FROM t GROUP BY id / 10",
        sources: &["t"],
    };
    GROUPS.create(&place).await;
    assert_eq!(GROUPS.refresh(&place).await.rows_written, 4);
    for (change, written, removed) in [
        // Merged with the row of the group.
        ("insert", 2, 1),
        // Computed from all rows of the groups.
        ("update", 2, 2),
        ("delete a group", 0, 1),
        ("delete", 1, 1),
        ("nothing", 0, 0),
    ] {
        match change {
            "insert" => {
                table.append(upload(&items(38..42))).await.unwrap();
            }
            "update" => set(&table, "n", "1", "id IN (1, 11)").await,
            "delete a group" => drop(table.delete("id >= 20 AND id < 30").await.unwrap()),
            "delete" => drop(table.delete("id = 41").await.unwrap()),
            _ => {}
        }
        let refreshed = GROUPS.refresh(&place).await;
        assert_eq!(because(&refreshed.mode), None, "{change}");
        assert_eq!(
            (refreshed.rows_written, refreshed.rows_removed),
            (written, removed),
            "{change}"
        );
        let twin = View {
            name: "groups_twin",
            ..GROUPS
        };
        if place.table(twin.name).view().await.is_err() {
            twin.create(&place).await;
        }
        twin.try_refresh(&place, true).await.unwrap();
        assert_eq!(
            GROUPS.rows(&place).await,
            twin.rows(&place).await,
            "{change}"
        );
    }
}

#[tokio::test]
async fn a_total_is_merged_with_added_rows() {
    let (place, table) = filled().await;
    const TOTAL: View = View {
        name: "total",
        sql: "SELECT count(*) AS c, sum(n) AS s, min(id) AS lo FROM t",
        sources: &["t"],
    };
    TOTAL.create(&place).await;
    TOTAL.refresh(&place).await;
    table.append(upload(&items(40..42))).await.unwrap();
    let refreshed = TOTAL.refresh(&place).await;
    assert_eq!(because(&refreshed.mode), None);
    assert_eq!((refreshed.rows_written, refreshed.rows_removed), (1, 1));
    let sum: i64 = (0..42).filter(|id| id % 5 != 0).map(|id| id * 3).sum();
    assert_eq!(TOTAL.rows(&place).await, [format!("42 | {sum} | 0")]);
    table.delete("id < 2").await.unwrap();
    let refreshed = TOTAL.refresh(&place).await;
    assert_eq!(
        because(&refreshed.mode).unwrap(),
        "rows were changed or deleted, and the query has aggregates without GROUP BY"
    );
    assert_eq!(TOTAL.rows(&place).await, [format!("40 | {} | 2", sum - 3)]);
}

#[tokio::test]
async fn a_row_that_comes_back_to_a_view_counts_once() {
    let (place, table) = filled().await;
    const COUNTS: View = View {
        name: "counts",
        sql: "SELECT name, count(*) AS c FROM few GROUP BY name",
        sources: &["few"],
    };
    COUNTS.create(&place).await;
    COUNTS.refresh(&place).await;
    let before = COUNTS.rows(&place).await;
    // All rows leave, so that no fragment of the first view remains.
    for kind in ["kind + 10", "kind - 10"] {
        set(&table, "kind", kind, "true").await;
        FEW.refresh(&place).await;
    }
    let refreshed = COUNTS.refresh(&place).await;
    assert_eq!(because(&refreshed.mode), None);
    assert_eq!(COUNTS.rows(&place).await, before);
}

#[tokio::test]
async fn results_with_declared_types_are_not_merged() {
    let (place, table) = filled().await;
    const TEXTS: View = View {
        name: "as_texts",
        sql: "SELECT kind, max(id) AS most, count(*) AS c FROM t GROUP BY kind",
        sources: &["t"],
    };
    let declared = Schema::new(vec![
        Field::new("kind", DataType::Int64, true),
        Field::new("most", DataType::Utf8, true),
        Field::new("c", DataType::Utf8, true),
    ]);
    TEXTS.create_with(&place, &declared).await;
    TEXTS.refresh(&place).await;
    // As texts, "100" is less than "36".
    table.append(upload(&items(100..101))).await.unwrap();
    let refreshed = TEXTS.refresh(&place).await;
    assert_eq!(because(&refreshed.mode), None);
    assert_eq!((refreshed.rows_written, refreshed.rows_removed), (1, 1));
    assert_eq!(TEXTS.rows(&place).await[0], "0 | 100 | 11");
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
async fn groups_of_dictionary_values_are_computed_in_full() {
    let place = Place::new();
    let table = place.table("t");
    let words: DictionaryArray<Int32Type> = ["a", "b", "a"].into_iter().collect();
    let batch = RecordBatch::try_from_iter([("w", Arc::new(words) as ArrayRef)]).unwrap();
    table.create(upload(&batch), false).await.unwrap();
    const WORDS: View = View {
        name: "words",
        sql: "SELECT w, count(*) AS c FROM t GROUP BY w",
        sources: &["t"],
    };
    WORDS.create(&place).await;
    WORDS.refresh(&place).await;
    table.append(upload(&batch)).await.unwrap();
    let refreshed = WORDS.refresh(&place).await;
    assert!(because(&refreshed.mode).unwrap().contains("dictionary"));
    assert_eq!(WORDS.rows(&place).await, ["a | 4", "b | 2"]);
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
        .add_columns(&[joust_core::table::NewColumn::Expression {
            name: "kind".into(),
            expression: "id % 2 + 2".into(),
        }])
        .await
        .unwrap();
    let refreshed = FEW.refresh(&place).await;
    assert_eq!(
        because(&refreshed.mode).unwrap(),
        "the columns of the source have changed"
    );
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
                let removed = table.clean_up(Duration::ZERO, None).await.unwrap();
                assert_eq!(removed.versions, 2);
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
