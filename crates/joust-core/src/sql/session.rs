//! The session of a query, with bounded memory. Sorts and groups spill to temporary files; operators that cannot spill,
//! such as the last step of a large join, fail.

use std::sync::Arc;

use datafusion::execution::SessionStateBuilder;
use datafusion::execution::disk_manager::DiskManagerBuilder;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use lance_datafusion::udf::register_functions;

use super::merge_join::with_rule;
use super::rules;
use crate::error::Result;

/// Catalog and schema of tables whose name has one part, in the sessions of workers. `"".t` is in them, too.
pub const CATALOG: &str = "";
pub const SCHEMA: &str = "";
/// Catalog and schema of such tables in the sessions of this server. No namespace can have this name, so `t` and `"".t`
/// can be two tables.
pub const UNQUALIFIED: &str = "/";

/// The most bytes of the sorts, joins and groups of one view.
pub const MEMORY: usize = 256 << 20;
/// What a session has in place of DataFusion's defaults, without its limits and [`UNQUALIFIED`]. Workers of jobs get
/// these options too, so that a text means the same to them.
pub const OPTIONS: [(&str, &str); 7] = [
    ("datafusion.catalog.default_catalog", CATALOG),
    ("datafusion.catalog.default_schema", SCHEMA),
    // Rows. Results of functions are allocated per batch and outside of `MEMORY`, so a small number of rows bounds them.
    ("datafusion.execution.batch_size", "1024"),
    // A recursion may be infinite.
    ("datafusion.execution.enable_recursive_ctes", "false"),
    // It loses groups whose minimum or maximum is NULL, and knows no NaN (DataFusion 54.1).
    ("datafusion.optimizer.enable_topk_aggregation", "false"),
    // Names are case-sensitive.
    ("datafusion.sql_parser.enable_ident_normalization", "false"),
    (
        "datafusion.sql_parser.map_string_types_to_utf8view",
        "false",
    ),
];

/// A session without tables for plans that are not run.
pub fn for_planning() -> Result<SessionContext> {
    new(1, MEMORY, 0)
}

/// A session without tables that runs `concurrency` partitions of a query concurrently, with these limits of memory and
/// of temporary files in bytes.
pub fn new(concurrency: usize, memory: usize, disk: u64) -> Result<SessionContext> {
    let config = config(concurrency)?
        .with_default_catalog_and_schema(UNQUALIFIED, UNQUALIFIED)
        .with_sort_spill_reservation_bytes((memory / 3).min(40 << 20));
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(FairSpillPool::new(memory)))
        .with_disk_manager_builder(DiskManagerBuilder::default().with_max_temp_directory_size(disk))
        .build_arc()?;
    let mut physical = rules::physical();
    if concurrency > 1 {
        // DataFusion's own merge joins would lose the nulls of NOT IN.
        physical = with_rule(physical);
    }
    let state = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(runtime)
        .with_default_features()
        .with_optimizer_rules(rules::logical())
        .with_physical_optimizer_rules(physical);
    let context = SessionContext::new_with_state(state.build());
    register_functions(&context);
    Ok(context)
}

/// A session for planning what workers of a job read. It has only the functions of DataFusion, as theirs have.
pub fn of_workers() -> Result<SessionContext> {
    let state = SessionStateBuilder::new()
        .with_config(config(1)?)
        .with_default_features();
    Ok(SessionContext::new_with_state(state.build()))
}

/// The same with the rules of the other sessions.
pub fn of_workers_with_own_rules() -> Result<SessionContext> {
    let state = SessionStateBuilder::new()
        .with_config(config(1)?)
        .with_default_features()
        .with_optimizer_rules(rules::logical());
    Ok(SessionContext::new_with_state(state.build()))
}

fn config(concurrency: usize) -> Result<SessionConfig> {
    let mut config = SessionConfig::new();
    for (name, value) in OPTIONS {
        config.options_mut().set(name, value)?;
    }
    Ok(config.with_target_partitions(concurrency))
}

/// The same as [`new`] on one thread, for a query with many sorts: each reserves memory to merge its spilled parts.
pub fn for_merge_joins(memory: usize, disk: u64) -> Result<SessionContext> {
    let context = new(1, memory, disk)?;
    let state = context.state_ref();
    let mut state = state.write();
    let options = state.config_mut().options_mut();
    options.execution.sort_spill_reservation_bytes = memory / 64;
    drop(state);
    Ok(context)
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, RecordBatch, StringArray};
    use datafusion::datasource::MemTable;
    use futures::TryStreamExt;

    use super::*;

    /// Rows of an id and a text of some length.
    fn table(rows: i64) -> MemTable {
        let batches: Vec<RecordBatch> = (0..rows)
            .step_by(10_000)
            .map(|first| {
                let ids = first..(first + 10_000).min(rows);
                let texts = ids.clone().map(|id| format!("{:0>60}", id * 7_919 % rows));
                RecordBatch::try_from_iter([
                    ("id", Arc::new(Int64Array::from_iter_values(ids)) as _),
                    ("text", Arc::new(StringArray::from_iter_values(texts)) as _),
                ])
                .unwrap()
            })
            .collect();
        MemTable::try_new(batches[0].schema(), vec![batches]).unwrap()
    }

    async fn count(context: &SessionContext, sql: &str) -> datafusion::error::Result<usize> {
        let mut rows = context.sql(sql).await?.execute_stream().await?;
        let mut count = 0;
        while let Some(batch) = rows.try_next().await? {
            count += batch.num_rows();
        }
        Ok(count)
    }

    #[tokio::test]
    async fn more_than_fits_is_spilled() {
        const ROWS: i64 = 300_000;
        for sql in [
            "SELECT * FROM t ORDER BY text",
            "SELECT text, count(*) FROM t GROUP BY text ORDER BY text",
        ] {
            let context = new(1, 32 << 20, 1 << 30).unwrap();
            context.register_table("t", Arc::new(table(ROWS))).unwrap();
            let counted = count(&context, sql).await;
            assert_eq!(counted.ok(), Some(ROWS as usize), "{sql}");
        }
    }

    #[tokio::test]
    async fn temporary_files_are_bounded() {
        let context = new(1, 32 << 20, 1 << 20).unwrap();
        context
            .register_table("t", Arc::new(table(300_000)))
            .unwrap();
        let error = count(&context, "SELECT * FROM t ORDER BY text").await;
        let error = crate::Error::from(error.unwrap_err());
        assert!(error.message().contains("temporary files"), "{error}");
    }

    /// Workers of jobs plan with these options.
    #[test]
    fn a_session_has_no_option_but_those_of_the_list_and_its_limits() {
        let context = new(1, 32 << 20, 0).unwrap();
        let own = context.copied_config().options().entries();
        let defaults = SessionConfig::new().options().entries();
        let changed = own.iter().zip(&defaults).filter_map(|(own, default)| {
            assert_eq!(own.key, default.key);
            (own.value != default.value).then_some(own.key.as_str())
        });
        let limits = [
            "datafusion.execution.sort_spill_reservation_bytes",
            "datafusion.execution.target_partitions",
        ];
        for option in changed.filter(|option| !limits.contains(option)) {
            let mut names = OPTIONS.iter().map(|(name, _)| *name);
            assert!(names.any(|name| name == option), "{option}");
        }
        let of_workers = of_workers().unwrap().copied_config();
        let of_workers = of_workers.options().entries();
        for (name, value) in OPTIONS {
            let is_place = name.starts_with("datafusion.catalog.");
            let wanted = if is_place { UNQUALIFIED } else { value };
            for (entries, wanted) in [(&own, wanted), (&of_workers, value)] {
                let entry = entries.iter().find(|entry| entry.key == name).unwrap();
                assert_eq!(entry.value.as_deref(), Some(wanted));
            }
        }
    }

    #[tokio::test]
    async fn a_recursion_is_refused() {
        let context = for_planning().unwrap();
        let endless =
            "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT n FROM r";
        assert!(count(&context, endless).await.is_err());
    }
}
