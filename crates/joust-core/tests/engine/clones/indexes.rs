//! Searches of clones through the indexes of their sources.

use joust_core::WorkContext;
use serde_json::{Value, json};

use super::{cloned, index, query, rows, source, text};
use crate::place::Place;

fn vector(id: i64) -> Value {
    json!({
        "vector": [id as f32, 1.0], "vector_column": "vector",
        "k": 3, "nprobes": 2, "columns": ["id"],
    })
}

#[tokio::test]
async fn a_clone_finds_by_vector_text_and_value_what_its_source_finds() {
    let place = Place::new();
    let source = source(&place).await;
    for (column, kind) in [("id", "BTREE"), ("text", "FTS"), ("vector", "IVF_FLAT")] {
        index(&source, column, kind).await;
    }
    let clone = cloned(&place, "clone", &source, Default::default()).await;
    let listed = clone.list_indices(Default::default()).await.unwrap();
    assert_eq!(listed.len(), 3);
    for index in &listed {
        assert_eq!(index.num_indexed_rows, 50, "{}", index.name);
    }
    // In the same process, which has the files of the source open, and in another one.
    for table in [clone.clone(), place.beside().table("clone")] {
        table.prewarm().await.unwrap();
        assert_eq!(query(&table, vector(40)).await[0], 40);
        assert_eq!(query(&table, text("number33")).await, [33]);
        assert_eq!(query(&table, text("apple")).await.len(), 50);
        let filter = json!({ "k": 9, "filter": "id = 12", "columns": ["id"] });
        assert_eq!(query(&table, filter).await, [12]);
    }
    clone.append(rows(60..70)).await.unwrap();
    for optimized in [false, true] {
        if optimized {
            clone
                .optimize_indices(&WorkContext::default())
                .await
                .unwrap();
        }
        for table in [clone.clone(), place.beside().table("clone")] {
            assert_eq!(query(&table, vector(65)).await[0], 65, "{optimized}");
            assert_eq!(query(&table, text("number66")).await, [66], "{optimized}");
            assert_eq!(query(&table, text("apple")).await.len(), 60, "{optimized}");
        }
    }
    let listed = clone.list_indices(Default::default()).await.unwrap();
    for index in &listed {
        assert_eq!(index.num_unindexed_rows, 0, "{}", index.name);
    }
    assert_eq!(query(&source, text("apple")).await.len(), 50);
}
