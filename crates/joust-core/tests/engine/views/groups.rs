//! Refreshes of views with groups.

use std::sync::Arc;

use arrow::array::{ArrayRef, DictionaryArray, RecordBatch};
use arrow::datatypes::{DataType, Field, Int32Type, Schema};

use joust_core::table::NewColumn;

use super::few::{FEW, filled, set};
use super::{View, because, items};
use crate::place::Place;
use crate::sent::upload;

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
async fn groups_follow_new_columns_of_the_table() {
    for sql in [
        "SELECT kind, count(*) AS c FROM (SELECT * FROM t) AS r GROUP BY kind",
        "SELECT kind, count(*) AS c FROM t GROUP BY kind",
    ] {
        let (place, table) = filled().await;
        let groups = View {
            name: "kinds",
            sql,
            sources: &["t"],
        };
        groups.create(&place).await;
        groups.refresh(&place).await;
        let column = NewColumn::Expression {
            name: "x".into(),
            expression: "id * 2".into(),
        };
        table.add_columns(&[column]).await.unwrap();
        table.delete("id = 1").await.unwrap();
        set(&table, "kind", "2", "id = 4").await;
        groups.refresh(&place).await;
        let twin = View {
            name: "kinds_twin",
            ..groups
        };
        twin.create(&place).await;
        twin.refresh(&place).await;
        assert_eq!(groups.rows(&place).await, twin.rows(&place).await, "{sql}");
    }
}
