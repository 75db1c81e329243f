use serde::Deserialize;

use crate::ask::Ask;

/// A line of standard input.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Command {
    /// Opens the table at a path under a name.
    Open { table: String, path: String },
    /// Builds an index and opens the table anew.
    Index { table: String, index: Index },
    /// One ask, and what it found.
    Answer { table: String, ask: Ask },
    /// Many asks in turn, by `clients` at once, each of which waits for its answer before it asks again.
    Load {
        table: String,
        asks: Vec<Ask>,
        clients: usize,
        seconds: f64,
    },
    /// Writes a new table out of a file with an Arrow IPC stream.
    Ingest { source: String, path: String },
}

/// The native text index is what joust's own takes the place of; all other indexes come with the table.
#[derive(Deserialize)]
pub struct Index {
    pub column: String,
}
