//! Random tables, changes and queries.

use joust_core::WorkContext;
use joust_core::table::Update;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::asked::{Change, asked, change};
use super::pair::{Element, Pair};

async fn apply(pair: &Pair, change: &Change, rows: &mut i64) {
    let table = &pair.asking;
    match change {
        Change::Append(count) => {
            table
                .append(pair.batch(*rows..*rows + count))
                .await
                .unwrap();
            *rows += count;
        }
        Change::Delete(every) => {
            table.delete(&format!("id % {every} = 1")).await.unwrap();
        }
        Change::Update(every) => {
            let update = Update {
                set: vec![("name".into(), "'changed'".into())],
                predicate: Some(format!("id % {every} = 2")),
            };
            table.update(update).await.unwrap();
        }
        Change::Index(kind, metric) => pair.index(kind, metric).await,
        Change::ScalarIndex(column, kind) => pair.scalar_index(column, kind).await,
        Change::OptimizeIndices => {
            table
                .optimize_indices(&WorkContext::default())
                .await
                .unwrap();
        }
        Change::Compact => pair.compact().await,
    }
}

/// Does what may happen to a table of such vectors, and asks.
pub fn model(element: Element, row_cache_bytes: usize, cases: u32) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let steps = prop::collection::vec((change(), prop::collection::vec(asked(), 1..4)), 1..6);
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 40,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&steps, |steps| {
            runtime.block_on(async {
                let pair = Pair::of(element, 0..300, row_cache_bytes).await;
                let mut rows = 300;
                for (change, asked) in &steps {
                    apply(&pair, change, &mut rows).await;
                    let newest = pair
                        .asking
                        .describe(Default::default())
                        .await
                        .unwrap()
                        .version;
                    for asked in asked {
                        pair.check(&asked.body(newest, element)).await;
                        pair.check(&asked.read(newest)).await;
                    }
                }
            });
            Ok(())
        })
        .unwrap();
}
