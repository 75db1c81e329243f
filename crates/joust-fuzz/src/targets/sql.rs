//! SQL statements.

use std::time::Duration;

use joust_core::engine::SqlSource;
use joust_core::sql::{At, Listed, Listing, TableName, read_statement};
use joust_core::table::ReadOptions;
use serde_json::json;

use crate::World;

/// Reads and plans a statement; nothing runs. The input is the statement, or a body `{query, parameters, limit}`.
pub fn sql(world: &World, data: &[u8]) {
    let body = match (data.first(), std::str::from_utf8(data)) {
        (Some(b'{'), _) | (_, Err(_)) => data.to_vec(),
        (_, Ok(text)) => json!({ "query": text, "open": text.contains('$') })
            .to_string()
            .into_bytes(),
    };
    let Some(read) = world.accepted(data, read_statement(&body)) else {
        return;
    };
    let sources: Vec<_> = read.tables.iter().map(|name| source(world, name)).collect();
    let engine = world.engine().clone();
    let (listing, location) = (listing(world), world.location().to_string());
    let described = world.run(async move {
        if read.change.is_none() {
            let timeout = Some(Duration::from_secs(5));
            return engine
                .describe_sql(&body, sources, listing, timeout)
                .await
                .map(drop);
        }
        let table = (location, Default::default());
        let options = ReadOptions::default();
        engine
            .describe_sql_change(&body, sources, listing, table, options)
            .await
            .map(drop)
    });
    world.accepted(data, described);
}

/// Every name is the table, or one of `information_schema`.
fn source(world: &World, table: &TableName) -> SqlSource {
    if let [schema, name] = table.name.as_slice()
        && schema.eq_ignore_ascii_case("information_schema")
    {
        return SqlSource::Information(name.to_lowercase());
    }
    let options = match table.at {
        Some(At::Version(version)) => ReadOptions::at(version),
        _ => ReadOptions::default(),
    };
    SqlSource::Table {
        location: world.location().to_string(),
        storage_options: Default::default(),
        branch: None,
        options,
        rows: None,
    }
}

fn listing(world: &World) -> Listing {
    Listing {
        schemata: vec!["main".to_string()],
        tables: vec![Listed {
            schema: "main".to_string(),
            name: "t".to_string(),
            location: world.location().to_string(),
            storage_options: Default::default(),
        }],
    }
}
