//! Searches by vector in memory find what Lance finds, to the bit.
//!
//! One table is opened by two engines: one keeps rows, the other keeps none and so asks Lance for all.
//! Whatever is done to the table in between, both give the same rows.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod asked;
mod model;
pub mod pair;

use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use joust_core::WorkContext;
use joust_core::table::{Merge, ReadOptions};
use model::model;
use pair::{DIMENSION, Element, Pair, answer, batch, decode, number, options};

#[test]
fn a_cached_column_gives_the_neighbors_that_lance_finds() {
    model(Element::F32, 64 << 20, 24);
}

#[test]
fn a_column_that_does_not_fit_gives_the_neighbors_that_lance_finds() {
    model(Element::F32, 24 << 10, 12);
}

#[test]
fn halves_are_found_as_lance_finds_them() {
    model(Element::F16, 64 << 20, 12);
}

#[test]
fn doubles_are_found_as_lance_finds_them() {
    model(Element::F64, 64 << 20, 6);
}

#[test]
fn small_integers_are_found_as_lance_finds_them() {
    model(Element::I8, 64 << 20, 6);
}

#[test]
fn bits_are_found_as_lance_finds_them() {
    model(Element::U8, 64 << 20, 12);
}

#[tokio::test]
async fn vectors_of_every_kind_are_compared_in_memory() {
    for element in [
        Element::F16,
        Element::F32,
        Element::F64,
        Element::I8,
        Element::U8,
    ] {
        let pair = Pair::of(element, 0..300, 64 << 20).await;
        let vector = vec![element.of(0.5); DIMENSION];
        for vector in [
            serde_json::json!(vector),
            serde_json::json!([vector, vector]),
        ] {
            let query = serde_json::json!({ "k": 3, "vector": vector });
            pair.check(&query).await;
            let plan = pair.plan(&query).await;
            assert!(
                plan.contains("all vectors of `vector` in memory"),
                "{element:?}: {plan}"
            );
        }
    }
}

/// Shares of a batch go to threads; what one finds does not depend on the others, nor on who else asks.
#[tokio::test(flavor = "multi_thread")]
async fn many_vectors_at_once_are_found_as_each_by_itself() {
    let pair = Arc::new(Pair::new(0..300, 64 << 20).await);
    for kind in ["", "IVF_FLAT", "IVF_PQ", "IVF_HNSW_SQ"] {
        if !kind.is_empty() {
            pair.index(kind, "l2").await;
        }
        let asked = (0..4_i64).map(|asker| {
            let pair = pair.clone();
            tokio::spawn(async move {
                let vector = |seed: i64| -> Vec<f32> {
                    (0..DIMENSION as i64)
                        .map(|place| number(seed, place) + 0.001)
                        .collect()
                };
                let several: Vec<Vec<f32>> =
                    (0..101).map(|own| vector(asker * 101 + own)).collect();
                let mut query = serde_json::json!({
                    "k": 4, "offset": 1, "vector": several, "nprobes": 2, "columns": ["id"],
                });
                let all = decode(&pair.check(&query).await);
                assert_eq!(all.num_rows(), 404);
                for (own, vector) in several.iter().enumerate().step_by(25) {
                    query["vector"] = serde_json::json!(vector);
                    let one = decode(&pair.check(&query).await);
                    let part = all.slice(own * 4, 4).project(&[1, 2]).unwrap();
                    assert_eq!(part.columns(), one.columns());
                }
            })
        });
        for asked in asked.collect::<Vec<_>>() {
            asked.await.unwrap();
        }
    }
}

/// A search by index alone finds no more than Lance's, which leaves rows out where an index for the filter is
/// behind.
#[tokio::test]
async fn fast_searches_with_a_filter_find_what_lance_finds() {
    for (column, kind) in [("id", "BTREE"), ("group", "BITMAP")] {
        let pair = Pair::new(0..300, 64 << 20).await;
        pair.scalar_index(column, kind).await;
        pair.index("IVF_PQ", "l2").await;
        let query = serde_json::json!({
            "k": 12, "vector": vec![0.5; DIMENSION], "filter": "id >= 50 AND `group` = 2",
            "fast_search": true, "columns": ["id"],
        });
        pair.check(&query).await;
        // Rows that move stay in the indexes, but Lance leaves them out once one of these is behind.
        let update = joust_core::table::Update {
            set: vec![("name".into(), "'changed'".into())],
            predicate: Some("id % 3 = 0".into()),
        };
        pair.asking.update(update).await.unwrap();
        pair.check(&query).await;
        pair.asking.append(pair.batch(300..320)).await.unwrap();
        pair.check(&query).await;
        let plan = pair.plan(&query).await;
        assert!(plan.contains("ANNSubIndex"), "{plan}");
        assert!(!plan.contains("in memory"), "{plan}");
    }
}

/// That is no reason to leave a search to Lance whose filter needs no such index.
#[tokio::test]
async fn fast_searches_with_another_filter_stay_in_memory() {
    let pair = Pair::new(0..300, 64 << 20).await;
    pair.scalar_index("id", "BTREE").await;
    pair.index("IVF_PQ", "l2").await;
    let query = serde_json::json!({
        "k": 12, "vector": vec![0.5; DIMENSION], "filter": "`group` = 2", "fast_search": true,
    });
    for rows in [300..320, 320..340] {
        pair.check(&query).await;
        let plan = pair.plan(&query).await;
        assert!(plan.contains("index `v` on `vector`"), "{plan}");
        pair.asking.append(pair.batch(rows)).await.unwrap();
    }
}

#[tokio::test]
async fn a_plan_names_the_cache_or_the_index_that_it_uses() {
    let pair = Pair::new(0..300, 64 << 20).await;
    let query = serde_json::json!({ "k": 3, "vector": vec![0.5; DIMENSION], "columns": ["id"] });
    // The first reading of a column is Lance's, the second brings it in.
    let plan = pair.plan(&query).await;
    assert!(plan.contains("KNNVectorDistance"), "{plan}");
    assert!(!plan.contains("in memory"), "{plan}");
    let plan = pair.plan(&query).await;
    assert!(plan.contains("all vectors of `vector` in memory"), "{plan}");
    pair.index("IVF_PQ", "l2").await;
    let plan = pair.plan(&query).await;
    assert!(plan.contains("index `v` on `vector`"), "{plan}");
    let sorted = serde_json::json!({
        "k": 3, "vector": vec![0.5; DIMENSION], "order_by": [{ "column_name": "id" }],
    });
    let plan = pair.plan(&sorted).await;
    assert!(plan.contains("ANNSubIndex"), "{plan}");
    assert!(!plan.contains("in memory"), "{plan}");
    let body = serde_json::to_vec(&query).unwrap();
    let analyzed = pair.keeping.analyze_plan(&body, options()).await.unwrap();
    assert!(
        analyzed.starts_with("AnalyzeExec")
            && analyzed.contains("metrics=[output_rows=3, elapsed="),
        "{analyzed}"
    );
}

/// Whatever is written meanwhile, an answer is what Lance finds in the version that it names.
#[tokio::test(flavor = "multi_thread")]
async fn answers_are_those_of_their_version_while_others_write() {
    for row_cache_bytes in [24 << 10, 64 << 20] {
        let pair = Arc::new(Pair::new(0..300, row_cache_bytes).await);
        pair.index("IVF_FLAT", "l2").await;
        let writer = {
            let pair = pair.clone();
            tokio::spawn(async move {
                for step in 0..12_i64 {
                    let table = &pair.keeping;
                    table
                        .append(batch(Element::F32, 300 + step * 10..310 + step * 10))
                        .await
                        .unwrap();
                    table.delete(&format!("id % 13 = {step}")).await.unwrap();
                }
            })
        };
        let readers = (0..4_i64).map(|reader| {
            let pair = pair.clone();
            tokio::spawn(async move {
                for step in 0..30_i64 {
                    let vector: Vec<f32> = (0..DIMENSION as i64)
                        .map(|place| number(reader * 31 + step, place))
                        .collect();
                    let mut query = match step % 3 {
                        0 => serde_json::json!({ "k": 5, "filter": format!("id in (1, 13, {step})") }),
                        1 => serde_json::json!({ "k": 5, "filter": "`group` = 2" }),
                        _ => serde_json::json!({ "k": 5, "vector": vector, "nprobes": 2 }),
                    };
                    query["columns"] = serde_json::json!(["id", "name", "vector"]);
                    let body = serde_json::to_vec(&query).unwrap();
                    let mut own = pair.keeping.query(&body, options()).await.unwrap();
                    let bytes = own.first().await.unwrap();
                    query["version"] = own.version().into();
                    let body = serde_json::to_vec(&query).unwrap();
                    let expected = answer(&pair.asking, &body).await;
                    assert_eq!(decode(&bytes), decode(&expected), "{query}");
                }
            })
        });
        for reader in readers.collect::<Vec<_>>() {
            reader.await.unwrap();
        }
        writer.await.unwrap();
    }
}

#[tokio::test]
async fn rows_that_a_compaction_removed_are_not_found() {
    let pair = Pair::new(0..300, 64 << 20).await;
    pair.index("IVF_FLAT", "l2").await;
    pair.asking.delete("id < 150").await.unwrap();
    let work = WorkContext::default();
    pair.asking
        .compact(&Default::default(), &work)
        .await
        .unwrap();
    for seed in 0..150 {
        let vector: Vec<f32> = (0..DIMENSION as i64)
            .map(|place| number(seed, place))
            .collect();
        let query = serde_json::json!({ "k": 10, "vector": vector, "nprobes": 4 });
        let body = serde_json::to_vec(&query).unwrap();
        let found = decode(&answer(&pair.keeping, &body).await);
        assert_eq!(found.num_rows(), 10);
    }
}

/// The future is moved several times before a thread runs it, so its rarely needed parts are boxed.
#[tokio::test]
async fn the_future_of_a_query_is_small() {
    let pair = Pair::new(0..3, 64 << 20).await;
    let future = pair.keeping.query(b"{}", options());
    assert!(size_of_val(&future) < 16 << 10, "{}", size_of_val(&future));
}

/// A filter that was never asked before is answered from columns in memory once these are there.
#[tokio::test]
async fn conditions_over_columns_in_memory_are_as_lance_evaluates_them() {
    let pair = Pair::new(0..300, 64 << 20).await;
    let ask = |filter: String| serde_json::json!({ "k": 5, "offset": 1, "filter": filter, "columns": ["id", "name"] });
    let fresh = |number: i64| format!("id >= {number} AND `group` <> 9 AND name >= ''");
    for (step, column, kind) in [
        (0, "id", "BTREE"),
        (1, "group", "BITMAP"),
        (2, "name", "BTREE"),
    ] {
        pair.scalar_index(column, kind).await;
        pair.asking
            .delete(&format!("id % 17 = {step}"))
            .await
            .unwrap();
        pair.asking
            .append(pair.batch(300 + step * 20..320 + step * 20))
            .await
            .unwrap();
        // A version's columns come in by use.
        let mut asked = 0;
        while !pair.plan(&ask(fresh(asked))).await.contains("InMemory") {
            asked += 1;
            assert!(asked < 1_000);
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        for seed in 0..40_i64 {
            let (low, high) = (seed * 7, seed * 7 + 60);
            for filter in [
                format!("`group` = {} AND id >= {low} AND id < {high}", seed % 7),
                format!("(id > {low}) AND (name <= 'name {high}')"),
                format!("`group` IN (1, {}, 5) AND name = 'name {low}'", seed % 7),
                format!("id BETWEEN {low} AND {high} AND name != 'name {high}' AND `group` != 3"),
                format!("id < {low} AND id > {high}"),
            ] {
                let query = ask(filter);
                let plan = pair.plan(&query).await;
                assert!(plan.contains("InMemory"), "{plan}");
                pair.check(&query).await;
                let mut near = query.clone();
                near["vector"] = serde_json::json!(vec![0.25; DIMENSION]);
                pair.check(&near).await;
            }
        }
    }
}

/// An index still holds what a compaction has taken away with the deletion of it.
#[tokio::test]
async fn rows_that_a_compaction_has_removed_are_not_found_in_the_place_of_others() {
    for kind in ["IVF_FLAT", "IVF_PQ", "IVF_HNSW_SQ"] {
        let pair = Pair::new(0..300, 64 << 20).await;
        pair.index(kind, "l2").await;
        pair.scalar_index("name", "FTS").await;
        pair.scalar_index("id", "BTREE").await;
        pair.asking.delete("id % 2 = 1").await.unwrap();
        pair.compact().await;
        let vector: Vec<f32> = (0..DIMENSION as i64)
            .map(|place| number(1, place))
            .collect();
        for own in [
            serde_json::json!({ "vector": vector }),
            serde_json::json!({ "vector": vector, "nprobes": 2 }),
            serde_json::json!({ "vector": vector, "refine_factor": 2 }),
            serde_json::json!({ "vector": vector, "fast_search": true }),
            serde_json::json!({ "vector": vector, "filter": "id < 280" }),
            serde_json::json!({ "vector": vector, "filter": "id < 280", "prefilter": false, "k": 40 }),
            serde_json::json!({ "vector": vector, "order_by": [{ "column_name": "id" }] }),
            serde_json::json!({ "vector": vector, "columns": { "id": "id + 0" } }),
            serde_json::json!({ "vector": [vector, vector] }),
            serde_json::json!({ "vector": [vector, vector], "columns": { "id": "id + 0" } }),
            serde_json::json!({ "vector": [vector, vector], "columns": { "id": "id + 0" }, "filter": "id < 280" }),
            serde_json::json!({ "vector": vector, "full_text_query": { "string_query": { "query": "name" } } }),
        ] {
            let mut query = serde_json::json!({ "k": 8, "columns": ["id"] });
            let given = own.as_object().unwrap().clone();
            query.as_object_mut().unwrap().extend(given);
            let found = decode(&pair.check(&query).await);
            let ids = found.column_by_name("id").unwrap();
            let ids = ids.as_primitive::<Int64Type>().values();
            let asked = query["vector"].as_array().unwrap();
            let wanted = if asked[0].is_array() { 16 } else { 8 };
            assert!(
                ids.len() >= wanted && ids.iter().all(|id| id % 2 == 0),
                "{kind} {query} {ids:?}"
            );
        }
    }
}

/// The same for what scalar indexes hold.
#[tokio::test]
async fn rows_that_a_compaction_has_removed_match_nothing() {
    for kind in ["BTREE", "BITMAP"] {
        let pair = Pair::new(0..300, 64 << 20).await;
        pair.scalar_index("id", kind).await;
        pair.asking.delete("id % 2 = 1").await.unwrap();
        pair.compact().await;
        for table in [&pair.asking, &pair.keeping] {
            let count = |predicate| table.count_rows(Some(predicate), ReadOptions::default());
            assert_eq!(count("id < 10").await.unwrap(), 5, "{kind}");
            assert_eq!(count("id = 7").await.unwrap(), 0, "{kind}");
        }
        pair.check(
            &serde_json::json!({ "k": 20, "filter": "id < 30", "columns": ["id"], "vector": [] }),
        )
        .await;
        let merge = Merge {
            on: vec!["id".into()],
            when_matched_update_all: true,
            when_matched_update_all_filter: None,
            when_not_matched_insert_all: true,
            when_not_matched_by_source_delete: false,
            when_not_matched_by_source_delete_filter: None,
            use_index: Some(true),
            timeout: None,
        };
        let merged = pair
            .asking
            .merge_insert(pair.batch(0..10), merge)
            .await
            .unwrap();
        assert_eq!(
            (merged.num_inserted_rows, merged.num_updated_rows),
            (5, 5),
            "{kind}"
        );
        let all = pair
            .asking
            .count_rows(Some("id < 10"), ReadOptions::default());
        assert_eq!(all.await.unwrap(), 10, "{kind}");
    }
}
