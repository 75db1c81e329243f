//! Where a view's query runs: in bounded memory, spilling to temporary files beyond it.

use std::sync::Arc;

use datafusion::execution::disk_manager::DiskManagerBuilder;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use lance_datafusion::udf::register_functions;

use crate::error::Result;

/// Catalog and schema of tables whose name has one part. No table of a client can be in them.
pub const CATALOG: &str = "";
pub const SCHEMA: &str = "";

/// Bytes that the sorts, joins and groups of one query may hold.
pub const MEMORY: usize = 256 << 20;
/// Bytes of temporary files.
const DISK: u64 = 100 << 30;
/// Rows of a batch: results of functions are held a batch at a time.
const BATCH: usize = 4_096;

/// A session without tables that runs `concurrency` parts of a query at the same time.
pub fn new(concurrency: usize) -> Result<SessionContext> {
    with_memory(concurrency, MEMORY)
}

pub fn with_memory(concurrency: usize, memory: usize) -> Result<SessionContext> {
    let mut config = SessionConfig::new()
        .with_target_partitions(concurrency)
        .with_batch_size(BATCH)
        .with_default_catalog_and_schema(CATALOG, SCHEMA)
        .with_sort_spill_reservation_bytes((memory / 3).min(40 << 20));
    let options = config.options_mut();
    // Names mean what is written.
    options.sql_parser.enable_ident_normalization = false;
    // A recursion may have no end.
    options.execution.enable_recursive_ctes = false;
    // A merge join spills where a hash join fails.
    options.optimizer.prefer_hash_join = false;
    options.sql_parser.map_string_types_to_utf8view = false;
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(FairSpillPool::new(memory)))
        .with_disk_manager_builder(DiskManagerBuilder::default().with_max_temp_directory_size(DISK))
        .build_arc()?;
    let context = SessionContext::new_with_config_rt(config, runtime);
    register_functions(&context);
    Ok(context)
}
