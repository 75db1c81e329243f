//! Prewarm: loads the data of queries in advance, so that the first ones find it in memory.
//!
//! It fills the same caches as queries do: opened indexes and their parts ([`indexes`]), and whole columns as far as
//! there is free space ([`columns`]). [`rehearsal`] then runs typical queries. Nothing is pinned: entries that are used
//! more replace it.

mod columns;
mod indexes;
mod rehearsal;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use futures::FutureExt;
use lance::index::DatasetIndexExt;

use crate::error::Result;
use crate::table::Table;
use crate::text;

/// What a table has in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prewarmed {
    pub version: u64,
    /// Names of indexes, sorted.
    pub indexes: Vec<String>,
    /// Names of the columns that are in memory, in the schema's order.
    pub columns: Vec<String>,
}

impl Table {
    /// Loads the data for queries of the newest version, as far as it fits into memory.
    pub async fn prewarm(&self) -> Result<Prewarmed> {
        let dataset = self.newest().await?;
        let texts = text::names(&dataset, self.caches()?.text()).await?;
        let others = dataset.load_indices().await?;
        // Lance lists internal entries among them.
        let others = others.iter().map(|index| index.name.as_str());
        let others = others.filter(|name| !name.starts_with("__"));
        let names: BTreeSet<&str> = texts
            .iter()
            .map(|(name, _)| name.as_str())
            .chain(others)
            .collect();
        let mut indexes = Vec::with_capacity(names.len());
        for name in names {
            if self.load_index(&dataset, name).boxed().await? {
                indexes.push(name.to_string());
            }
        }
        let columns = self.keep_columns(&dataset).boxed().await?;
        let texts: Vec<String> = texts.into_iter().map(|(_, column)| column).collect();
        self.rehearse(&dataset, &texts).boxed().await;
        Ok(Prewarmed {
            version: dataset.version_id(),
            indexes,
            columns,
        })
    }
}
