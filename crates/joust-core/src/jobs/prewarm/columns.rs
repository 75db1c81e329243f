//! Prewarms columns: decoded in memory where they fit.

use std::collections::HashSet;
use std::sync::Arc;

use futures::TryStreamExt;
use lance::Dataset;
use lance::index::DatasetIndexExt;
use lance_core::datatypes::Field;

use crate::cache::width;
use crate::error::{Error, Result};
use crate::schema::columns::canonical_column;
use crate::table::Table;

/// Assumed width of values without a fixed width, to order columns by size.
const USUAL_WIDTH: usize = 64;

impl Table {
    /// The canonical paths of columns. Code 12 for a column that does not exist.
    pub async fn resolve_columns(&self, columns: &[String]) -> Result<Vec<String>> {
        let dataset = self.newest().await?;
        columns
            .iter()
            .map(|column| canonical_column(&dataset, column))
            .collect()
    }

    /// Loads columns (all if none are given). Columns that do not fit are read once: their metadata stays in the
    /// engine's cache, and the pages of local files in the page cache.
    pub async fn prewarm_columns(&self, columns: &[String]) -> Result<()> {
        let columns = self.resolve_columns(columns).await?;
        let dataset = self.newest().await?;
        let wanted = columns.iter().map(|path| dataset.schema().field(path));
        let fields: Option<Vec<&Field>> = match columns.is_empty() {
            true => Some(dataset.schema().fields.iter().collect()),
            false => wanted.collect(),
        };
        if let Some(fields) = fields
            && self.keep(&dataset, &fields).await?.len() == fields.len()
        {
            return Ok(());
        }
        let mut scanner = dataset.scan();
        if !columns.is_empty() {
            scanner.project(&columns)?;
        }
        let batches = scanner.try_into_stream().await.map_err(Error::of_input)?;
        Ok(batches.try_for_each(|_| async { Ok(()) }).await?)
    }

    /// Loads all columns that fit; returns their names.
    pub(super) async fn keep_columns(&self, dataset: &Arc<Dataset>) -> Result<Vec<String>> {
        let fields: Vec<&Field> = dataset.schema().fields.iter().collect();
        let kept = self.keep(dataset, &fields).await?;
        let kept = fields.iter().filter(|field| kept.contains(&field.id));
        Ok(kept.map(|field| field.name.clone()).collect())
    }

    /// The ids of those fields that are in memory afterwards. Loads small ones first: more of them fit.
    async fn keep(&self, dataset: &Arc<Dataset>, fields: &[&Field]) -> Result<HashSet<i32>> {
        let rows = self.caches()?.rows();
        let mut kept = HashSet::new();
        if !rows.is_on() {
            return Ok(kept);
        }
        let indices = dataset.load_indices().await?;
        let indexed: HashSet<i32> = indices
            .iter()
            .filter_map(|index| index.fields.first().copied())
            .collect();
        let mut ordered = fields.to_vec();
        ordered.sort_by_key(|field| width(&field.data_type()).unwrap_or(USUAL_WIDTH));
        for field in ordered {
            let Some(column) = rows.decoded.bring(dataset, field).await? else {
                continue;
            };
            kept.insert(field.id);
            // Lookups use indexed columns.
            if indexed.contains(&field.id) {
                rows.prepare_lookups(field, &column).await?;
            }
        }
        if !kept.is_empty() {
            rows.row_liveness(dataset).await?;
            rows.addresses(dataset).await?;
        }
        Ok(kept)
    }
}
