//! Identifies the version of a table in cache keys.

use lance::Dataset;

/// One version of one branch of one table incarnation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VersionKey {
    uri: String,
    branch: Option<String>,
    version: u64,
    committed_nanos: u128,
}

impl VersionKey {
    pub fn of(dataset: &Dataset) -> Self {
        let manifest = dataset.manifest();
        Self {
            uri: dataset.uri().to_string(),
            branch: manifest.branch.clone(),
            version: manifest.version,
            committed_nanos: manifest.timestamp_nanos,
        }
    }
}
