//! Reads indexes and columns ahead of their use, so that the first queries find them in memory.

use futures::TryStreamExt;
use lance::index::DatasetIndexExt;

use super::build::not_found;
use crate::error::{Error, Result};
use crate::query::canonical_column;
use crate::table::Table;
use crate::text;

impl Table {
    /// Loads an index into the index cache, as far as it fits.
    pub async fn prewarm_index(&self, name: &str) -> Result<()> {
        let dataset = self.newest().await?;
        if text::prewarm(&dataset, name, self.handle().text()).await? {
            return Ok(());
        }
        if dataset.load_indices_by_name(name).await?.is_empty() {
            return Err(not_found(name));
        }
        Ok(dataset.prewarm_index(name).await?)
    }

    /// The canonical paths of columns. Code 12 for one that there is not.
    pub async fn resolve_columns(&self, columns: &[String]) -> Result<Vec<String>> {
        let dataset = self.newest().await?;
        columns
            .iter()
            .map(|column| canonical_column(&dataset, column))
            .collect()
    }

    /// Reads columns (all when there are none) once: their metadata stays in the engine's cache, and the
    /// pages of local files in the system's.
    pub async fn prewarm_columns(&self, columns: &[String]) -> Result<()> {
        let columns = self.resolve_columns(columns).await?;
        let mut scanner = self.newest().await?.scan();
        if !columns.is_empty() {
            scanner.project(&columns)?;
        }
        let batches = scanner.try_into_stream().await.map_err(Error::of_input)?;
        Ok(batches.try_for_each(|_| async { Ok(()) }).await?)
    }
}
