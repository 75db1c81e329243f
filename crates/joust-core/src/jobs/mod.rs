//! Work that runs in the background of a server, each kind in a module of its own.

pub mod backfill;
pub mod maintenance;
pub mod prewarm;
pub mod view_refresh;
