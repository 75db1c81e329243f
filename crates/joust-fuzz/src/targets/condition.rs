//! SQL conditions of filters, and the filters of grants.

use joust_core::RowFilter;
use joust_core::table::ReadOptions;

use crate::World;
use crate::world::{ROWS, TENANT, TENANT_ROWS};

/// Counts the rows of a condition. No condition reaches rows that a row filter hides.
pub fn condition(world: &World, data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let counted = world.accepted(data, count(world, text, None));
    assert!(counted.is_none_or(|rows| rows <= ROWS));

    let rows = RowFilter::any(&[format!("tenant = '{TENANT}'")]).unwrap();
    let admitted = world.accepted(data, count(world, text, Some(rows)));
    assert!(
        admitted.is_none_or(|rows| rows <= TENANT_ROWS),
        "the condition reaches rows that the row filter hides"
    );

    let (table, own) = (world.table(), text.to_string());
    let checked = world.run(async move { table.check_row_filter(&own).await });
    if world.accepted(data, checked).is_some() {
        let rows = RowFilter::any(&[text.to_string()]).unwrap();
        world.accepted(data, count(world, "id > 3", Some(rows)));
    }
}

fn count(world: &World, condition: &str, rows: Option<RowFilter>) -> joust_core::Result<u64> {
    let table = match rows {
        Some(rows) => world.table().with_rows(rows),
        None => world.table(),
    };
    let condition = condition.to_string();
    world.run(async move {
        let options = ReadOptions::default();
        table.count_rows(Some(condition.as_str()), options).await
    })
}
