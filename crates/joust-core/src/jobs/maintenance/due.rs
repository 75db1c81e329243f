//! Determines the maintenance that is due.

use std::collections::HashMap;

use lance::index::DatasetIndexExt;
use roaring::RoaringBitmap;

use crate::error::Result;
use crate::table::{ReadOptions, Table, live_rows};
use crate::text;

/// Size classes of fragments, in rows. Only fragments of one class are merged, so that a row is not rewritten after
/// every small insert. The last class is below the target size of compaction: fragments that reach it stay unchanged.
const STEPS: [u64; 3] = [4 << 10, 64 << 10, 512 << 10];
/// The number of fragments of one class that triggers a merge.
const MANY: usize = 16;
/// The percentage of deleted rows that triggers a compaction.
const MOST_DELETED: u64 = 10;
/// The number of rows without index that justifies a commit while others write.
const WORTH_INDEXING: u64 = 256;

/// What is due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MaintenanceDue {
    /// Merge fragments with fewer rows; `None` if no compaction is due.
    pub compact_below: Option<u64>,
    /// Rows that at least one index does not cover yet.
    pub unindexed_rows: u64,
    /// Whether they justify a commit during continuous writes. Once a table is idle, any number does.
    pub worth_indexing: bool,
}

impl Table {
    /// The maintenance that is due, from the manifest alone where it has the numbers.
    pub async fn maintenance_due(&self) -> Result<MaintenanceDue> {
        let dataset = self.dataset(ReadOptions::default()).await?;
        let mut parts: Vec<(String, RoaringBitmap)> = Vec::new();
        for index in dataset.load_indices().await?.iter() {
            let covered = index.fragment_bitmap.clone().unwrap_or_default();
            parts.push((index.name.clone(), covered));
        }
        for entry in text::entries(&dataset, self.caches()?.text()).await?.iter() {
            parts.push((entry.name.clone(), entry.fragments.clone()));
        }
        let mut fragments = Vec::new();
        let mut deleted = 0;
        for fragment in dataset.get_fragments() {
            let rows = live_rows(&fragment).await?;
            let physical = fragment.metadata().physical_rows;
            deleted += physical.map_or(0, |all| all as u64 - rows);
            let id = fragment.id() as u32;
            let covered = parts.iter().map(|(_, part)| part.contains(id)).collect();
            fragments.push(Sized { id, rows, covered });
        }
        let unindexed = unindexed(&parts, &fragments);
        Ok(MaintenanceDue {
            compact_below: compact_below(&fragments, deleted),
            unindexed_rows: unindexed,
            worth_indexing: unindexed >= WORTH_INDEXING,
        })
    }
}

/// The properties of a fragment that compaction considers.
struct Sized {
    id: u32,
    /// Rows that are not deleted.
    rows: u64,
    /// For each part of an index whether it covers the fragment.
    covered: Vec<bool>,
}

/// Rows that the index with the least coverage lacks.
fn unindexed(parts: &[(String, RoaringBitmap)], fragments: &[Sized]) -> u64 {
    let mut indexes: HashMap<&str, RoaringBitmap> = HashMap::new();
    for (name, part) in parts
        .iter()
        .filter(|(name, _)| !name.starts_with("__lance"))
    {
        *indexes.entry(name).or_default() |= part;
    }
    let outside = indexes.values().map(|covered| {
        let outside = fragments.iter().filter(|one| !covered.contains(one.id));
        outside.map(|one| one.rows).sum()
    });
    outside.max().unwrap_or(0)
}

/// The largest class with enough fragments, or the last one if too many rows are deleted.
fn compact_below(fragments: &[Sized], deleted: u64) -> Option<u64> {
    let live: u64 = fragments.iter().map(|one| one.rows).sum();
    if deleted * 100 > (live + deleted) * MOST_DELETED {
        return STEPS.last().copied();
    }
    let below = [0].iter().chain(&STEPS).zip(&STEPS);
    let due = below.filter(|(from, to)| {
        // Lance only merges neighbours that the same index segments cover.
        let runs = fragments.chunk_by(|one, next| {
            one.rows < **to && next.rows < **to && one.covered == next.covered
        });
        let joined = runs.filter(|run| run.len() > 1).flatten();
        joined
            .filter(|one| (**from..**to).contains(&one.rows))
            .count()
            >= MANY
    });
    due.last().map(|(_, to)| *to)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fragments with these numbers of rows, which no index covers.
    fn of(rows: impl IntoIterator<Item = u64>) -> Vec<Sized> {
        let sized = |rows| Sized {
            id: 0,
            rows,
            covered: Vec::new(),
        };
        rows.into_iter().map(sized).collect()
    }

    #[test]
    fn a_step_is_due_once_it_has_enough_fragments() {
        assert_eq!(compact_below(&of([10; 15]), 0), None);
        assert_eq!(compact_below(&of([10; 16]), 0), Some(4 << 10));
        assert_eq!(compact_below(&of([5_000; 16]), 0), Some(64 << 10));
        let mixed = [vec![10; 16], vec![100_000; 16]].concat();
        assert_eq!(compact_below(&of(mixed), 0), Some(512 << 10));
        assert_eq!(compact_below(&of([2 << 20; 100]), 0), None);
        assert_eq!(compact_below(&[], 0), None);
    }

    #[test]
    fn fragments_without_a_neighbour_to_join_are_not_counted() {
        let alone = [10, 1 << 20].repeat(16);
        assert_eq!(compact_below(&of(alone.clone()), 0), None);
        let and_two = [alone.clone(), vec![10, 10]].concat();
        assert_eq!(compact_below(&of(and_two), 0), None);
        let and_enough = [alone, vec![10; 16]].concat();
        assert_eq!(compact_below(&of(and_enough), 0), Some(4 << 10));
        // Each has its own index part.
        let mut parts = of([10; 16]);
        for (place, one) in parts.iter_mut().enumerate() {
            one.covered = (0..16).map(|part| part == place).collect();
        }
        assert_eq!(compact_below(&parts, 0), None);
    }

    #[test]
    fn many_deleted_rows_are_due_too() {
        assert_eq!(compact_below(&of([900]), 100), None);
        assert_eq!(compact_below(&of([899]), 101), Some(512 << 10));
    }

    #[test]
    fn rows_are_outside_of_an_index_when_none_of_its_parts_covers_them() {
        let mut fragments = of([1, 10, 100]);
        for (id, one) in fragments.iter_mut().enumerate() {
            one.id = id as u32;
        }
        let part = |name: &str, ids: &[u32]| (name.to_string(), ids.iter().collect());
        let parts = [part("a", &[0]), part("a", &[2]), part("b", &[0, 1])];
        assert_eq!(unindexed(&parts, &fragments), 100);
        assert_eq!(unindexed(&[part("__lance_x", &[])], &fragments), 0);
        assert_eq!(unindexed(&[], &fragments), 0);
    }
}
