//! Background jobs, one module for each kind.

pub mod auto_refresh;
pub mod backfill;
pub mod maintenance;
pub mod prewarm;
pub mod view_refresh;
