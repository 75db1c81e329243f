//! Prewarms indexes as far as they fit.

use std::sync::Arc;

use lance::Dataset;
use lance::index::DatasetIndexExt;
use lance_table::format::IndexMetadata;

use crate::error::Result;
use crate::index::not_found;
use crate::table::Table;
use crate::text;

impl Table {
    /// Loads an index into the caches. Code 6 if it does not exist.
    pub async fn prewarm_index(&self, name: &str) -> Result<()> {
        let dataset = self.newest().await?;
        self.load_index(&dataset, name).await?;
        Ok(())
    }

    /// False for an index kind that cannot be loaded in advance, and for an index without rows.
    pub(super) async fn load_index(&self, dataset: &Arc<Dataset>, name: &str) -> Result<bool> {
        let caches = self.caches()?;
        if text::prewarm(dataset, name, caches.text()).await? {
            return Ok(true);
        }
        let segments = dataset.load_indices_by_name(name).await?;
        let Some(first) = segments.first() else {
            return Err(not_found(name));
        };
        // The definition of an index that is not trained yet has no files. Segments without a bitmap are old ones.
        let has_rows = |segment: &IndexMetadata| {
            let covered = segment.fragment_bitmap.as_ref();
            covered.is_none_or(|fragments| !fragments.is_empty())
        };
        if !segments.iter().any(has_rows) {
            return Ok(false);
        }
        match dataset.prewarm_index(name).await {
            Err(lance::Error::NotSupported { .. }) => return Ok(false),
            loaded => loaded?,
        }
        // joust caches the opened index for searches, besides Lance's cached parts.
        let field = first.fields.first().filter(|_| caches.rows().is_on());
        if let Some(field) = field
            && let Ok(column) = dataset.schema().field_path(*field)
        {
            caches.vectors().index(dataset, &column, *field).await?;
        }
        Ok(true)
    }
}
