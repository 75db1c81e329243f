//! An engine with a directory of its own.

use std::sync::Arc;

use joust_core::{Durability, Engine, EngineOptions, Table};

pub struct Place {
    pub engine: Engine,
    pub directory: Arc<tempfile::TempDir>,
}

impl Place {
    pub fn new() -> Self {
        Self::with(Durability::default())
    }

    pub fn with(durability: Durability) -> Self {
        Self {
            engine: Engine::new(EngineOptions {
                durability,
                ..EngineOptions::default()
            }),
            directory: Arc::new(tempfile::tempdir().unwrap()),
        }
    }

    /// Another engine in the same directory.
    pub fn beside(&self) -> Self {
        Self {
            engine: Engine::new(EngineOptions::default()),
            directory: self.directory.clone(),
        }
    }

    pub fn location(&self, table: &str) -> String {
        format!("{}/{table}.lance", self.directory.path().display())
    }

    pub fn table(&self, table: &str) -> Table {
        self.engine.table(&self.location(table), Default::default())
    }
}
