//! What a table's next maintenance has to do.

use lance::index::DatasetIndexExt;
use roaring::RoaringBitmap;

use super::live_rows;
use crate::error::Result;
use crate::table::{ReadOptions, Table};
use crate::text;

/// Sizes of fragments, in rows, that are put together with their like: a row is rewritten once for each
/// step, and not each time that a few rows were added. What has come to the last is left in peace.
const STEPS: [u64; 3] = [4 << 10, 64 << 10, 512 << 10];
/// Fragments of one step that are worth putting together.
const MANY: usize = 16;
/// Part of a table's rows that may be deleted before they are taken out, in percent.
const MOST_DELETED: u64 = 10;
/// Rows outside of an index that are worth a commit.
const WORTH_INDEXING: u64 = 256;

/// What is due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Upkeep {
    /// Fragments with fewer rows are to be put together; `None`: the fragments are fine.
    pub compact_below: Option<u64>,
    /// Rows that at least one of the indexes does not cover yet, when they are worth covering.
    pub unindexed_rows: u64,
}

impl Upkeep {
    pub fn is_due(&self) -> bool {
        self.compact_below.is_some() || self.unindexed_rows > 0
    }
}

impl Table {
    /// What is due, from the manifest alone wherever that knows.
    pub async fn upkeep(&self) -> Result<Upkeep> {
        let dataset = self.dataset(ReadOptions::default()).await?;
        let mut sizes = Vec::new();
        let mut deleted = 0;
        for fragment in dataset.get_fragments() {
            let rows = live_rows(&fragment).await?;
            let physical = fragment.metadata().physical_rows;
            deleted += physical.map_or(0, |all| all - rows) as u64;
            sizes.push((fragment.id() as u32, rows as u64));
        }
        let mut unindexed = 0;
        let mut names: Vec<(String, RoaringBitmap)> = Vec::new();
        let mut cover = |name: &str, covered: RoaringBitmap| match names
            .iter_mut()
            .find(|(known, _)| known == name)
        {
            Some((_, all)) => *all |= covered,
            None if name.starts_with("__lance") => {}
            None => names.push((name.to_string(), covered)),
        };
        for index in dataset.load_indices().await?.iter() {
            let covered = index.fragment_bitmap.clone().unwrap_or_default();
            cover(&index.name, covered);
        }
        for entry in text::entries(&dataset, self.handle().text()).await?.iter() {
            cover(&entry.name, entry.fragments.clone());
        }
        for (_, covered) in names {
            let outside = sizes.iter().filter(|(id, _)| !covered.contains(*id));
            unindexed = unindexed.max(outside.map(|(_, rows)| rows).sum());
        }
        let sizes: Vec<u64> = sizes.into_iter().map(|(_, rows)| rows).collect();
        Ok(Upkeep {
            compact_below: compact_below(&sizes, deleted),
            unindexed_rows: if unindexed >= WORTH_INDEXING {
                unindexed
            } else {
                0
            },
        })
    }
}

/// The largest step that has enough fragments, or the last where too much is deleted.
fn compact_below(sizes: &[u64], deleted: u64) -> Option<u64> {
    let live: u64 = sizes.iter().sum();
    if deleted * 100 > (live + deleted) * MOST_DELETED {
        return STEPS.last().copied();
    }
    let mut below = [0].iter().chain(&STEPS).zip(&STEPS);
    let due = below.by_ref().filter(|(from, to)| {
        let of_step = sizes.iter().filter(|rows| (**from..**to).contains(*rows));
        of_step.count() >= MANY
    });
    due.last().map(|(_, to)| *to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_due_once_it_has_enough_fragments() {
        assert_eq!(compact_below(&[10; 15], 0), None);
        assert_eq!(compact_below(&[10; 16], 0), Some(4 << 10));
        assert_eq!(compact_below(&[5_000; 16], 0), Some(64 << 10));
        let mixed = [vec![10; 16], vec![100_000; 16]].concat();
        assert_eq!(compact_below(&mixed, 0), Some(512 << 10));
        assert_eq!(compact_below(&[2 << 20; 100], 0), None);
        assert_eq!(compact_below(&[], 0), None);
    }

    #[test]
    fn many_deleted_rows_are_due_too() {
        assert_eq!(compact_below(&[900], 100), None);
        assert_eq!(compact_below(&[899], 101), Some(512 << 10));
    }
}
