//! Bodies of queries.

use std::time::Duration;

use arrow::ipc::reader::StreamReader;
use joust_core::ipc::Format;
use joust_core::query::{QueryOptions, check};
use joust_core::{Result, RowFilter, Table};

use crate::World;
use crate::world::TENANT;

/// Runs and explains a query. The engine rejects it or returns a readable stream. The plan for a caller with a row filter
/// has no terms of the table.
pub fn query(world: &World, data: &[u8]) {
    if world.accepted(data, check(data)).is_none() {
        return;
    }
    let (table, body) = (world.table(), data.to_vec());
    let answer = world.run(async move { answer(&table, &body).await });
    if let Some(bytes) = world.accepted(data, answer) {
        let reader = StreamReader::try_new(bytes.as_slice(), None).unwrap();
        reader.for_each(|batch| drop(batch.unwrap()));
    }
    let explain = [br#"{"query":"#.as_slice(), data, b"}"].concat();
    let rows = RowFilter::any(&[format!("tenant = '{TENANT}'")]).unwrap();
    for (table, is_filtered) in [
        (world.table(), false),
        (world.table().with_rows(rows), true),
    ] {
        let explain = explain.clone();
        let plan = world.run(async move { table.explain_plan(&explain, options()).await });
        if let Some(plan) = world.accepted(data, plan) {
            world.check_shown(data, &plan);
            let has_terms = plan
                .lines()
                .any(|line| line.trim_start().starts_with("Term: "));
            assert!(
                !is_filtered || !has_terms,
                "the terms of hidden rows: {plan}"
            );
        }
    }
}

async fn answer(table: &Table, body: &[u8]) -> Result<Vec<u8>> {
    let mut answer = table.query(body, options()).await?;
    let mut bytes = answer.first().await?;
    while let Some(part) = answer.next().await? {
        bytes.extend(part);
    }
    Ok(bytes)
}

fn options() -> QueryOptions {
    QueryOptions {
        id: vec!["t".to_string()],
        format: Format::Stream,
        not_before: None,
        min_version: None,
        timeout: Some(Duration::from_secs(5)),
    }
}
