//! Table statistics, from the manifest where it has the numbers.

use std::collections::BTreeSet;

use futures::{StreamExt, TryStreamExt};
use lance::dataset::fragment::FileFragment;
use lance::index::DatasetIndexExt;
use lance_table::format::IndexMetadata;

use crate::error::Result;
use crate::table::{ReadOptions, Table, live_rows};

/// Fragments with fewer rows are worth compacting.
const SMALL_FRAGMENT_ROWS: u64 = 100_000;
/// Fragments that are read concurrently if the manifest lacks a count.
const CONCURRENCY: usize = 16;

/// Statistics of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Bytes of the data and index files that the version references.
    pub total_bytes: u64,
    /// Live rows.
    pub num_rows: u64,
    pub num_deleted_rows: u64,
    pub num_indices: u64,
    pub num_fragments: u64,
    pub num_small_fragments: u64,
    pub lengths: Lengths,
}

/// The distribution of live rows over fragments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lengths {
    pub min: u64,
    pub max: u64,
    pub mean: u64,
    pub p25: u64,
    pub p50: u64,
    pub p75: u64,
    pub p99: u64,
}

impl Table {
    pub async fn stats(&self, options: ReadOptions) -> Result<Stats> {
        let dataset = self.dataset(options).await?;
        let fragments: Vec<(u64, u64)> = futures::stream::iter(dataset.get_fragments())
            .map(|fragment| async move { measure(&fragment).await })
            .buffered(CONCURRENCY)
            .try_collect()
            .await?;
        let mut rows: Vec<u64> = fragments.iter().map(|(rows, _)| *rows).collect();
        rows.sort_unstable();
        let text = crate::text::entries(&dataset, self.caches()?.text()).await?;
        let indices = dataset.load_indices().await?;
        let index_bytes: u64 = indices
            .iter()
            .filter_map(IndexMetadata::total_size_bytes)
            .chain(text.iter().filter_map(|entry| entry.bytes))
            .sum();
        let names: BTreeSet<String> = indices
            .iter()
            .map(|index| index.name.clone())
            .chain(text.iter().map(|entry| entry.name.clone()))
            .collect();
        Ok(Stats {
            total_bytes: fragments.iter().map(|(_, bytes)| bytes).sum::<u64>() + index_bytes,
            num_rows: rows.iter().sum(),
            num_deleted_rows: dataset.count_deleted_rows().await? as u64,
            num_indices: names.len() as u64,
            num_fragments: rows.len() as u64,
            num_small_fragments: rows
                .iter()
                .filter(|rows| **rows < SMALL_FRAGMENT_ROWS)
                .count() as u64,
            lengths: lengths(&rows),
        })
    }
}

/// Live rows and bytes of a fragment.
async fn measure(fragment: &FileFragment) -> Result<(u64, u64)> {
    let bytes = fragment
        .metadata()
        .files
        .iter()
        .filter_map(|file| file.file_size_bytes.get())
        .map(u64::from)
        .sum();
    Ok((live_rows(fragment).await?, bytes))
}

/// Summary of sorted counts. A percentile is computed as in LanceDB: the count after that percentage of all counts. Of
/// two counts the second is the median.
fn lengths(sorted: &[u64]) -> Lengths {
    let (Some(&min), Some(&max)) = (sorted.first(), sorted.last()) else {
        return Lengths::default();
    };
    let at = |percent: usize| sorted[sorted.len() * percent / 100];
    Lengths {
        min,
        max,
        mean: sorted.iter().sum::<u64>() / sorted.len() as u64,
        p25: at(25),
        p50: at(50),
        p75: at(75),
        p99: at(99),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_counts_that_occur() {
        let summary = lengths(&[1, 2, 3, 4]);
        assert_eq!((summary.min, summary.max, summary.mean), (1, 4, 2));
        assert_eq!(
            (summary.p25, summary.p50, summary.p75, summary.p99),
            (2, 3, 4, 4)
        );
        let summary = lengths(&[1, 2]);
        assert_eq!((summary.p25, summary.p50), (1, 2));
        assert_eq!(lengths(&[7]).p99, 7);
        assert_eq!(lengths(&[]), Lengths::default());
    }
}
