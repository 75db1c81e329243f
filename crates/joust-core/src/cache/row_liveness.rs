//! Row liveness: which rows of a version are not deleted, and their ids.

use std::sync::Arc;

use arrow::buffer::BooleanBuffer;
use futures::{StreamExt, TryStreamExt, stream};
use lance::Dataset;
use lance::dataset::fragment::FileFragment;
use lance::dataset::rowids::load_row_id_sequence;

use super::load_column;
use crate::error::{Error, Result};
use crate::weighted_cache::WeightedCache;

/// The rows of all fragments of a version, in the version's order.
pub struct RowLiveness(Vec<Arc<Fragment>>);

/// The rows of one fragment.
pub struct Fragment {
    /// All rows, deleted ones too.
    pub rows: usize,
    /// `None`: all are.
    alive: Option<BooleanBuffer>,
    ids: Ids,
}

enum Ids {
    /// The first id; the others follow.
    Range(u64),
    Listed(Vec<u64>),
}

impl RowLiveness {
    /// `known` caches fragments across versions, by their files and deletions.
    pub async fn of(
        dataset: &Dataset,
        known: &WeightedCache<String, Arc<Fragment>>,
    ) -> Result<Self> {
        let fragments = stream::iter(dataset.get_fragments())
            .map(|fragment| async move {
                let make = async || {
                    let fragment = Fragment::of(dataset, &fragment).await?;
                    let weight = fragment.weight();
                    Ok((Arc::new(fragment), weight))
                };
                known.get(&state(dataset, &fragment), make).await
            })
            .buffered(8)
            .try_collect()
            .await?;
        Ok(Self(fragments))
    }

    pub fn fragments(&self) -> &[Arc<Fragment>] {
        &self.0
    }

    /// Approximate bytes without the fragments.
    pub fn weight(&self) -> usize {
        self.0.len() * size_of::<Arc<Fragment>>()
    }
}

/// Identifies a fragment and its deletions.
fn state(dataset: &Dataset, fragment: &FileFragment) -> String {
    let metadata = fragment.metadata();
    let mut state = format!("{} {}", dataset.uri(), load_column::identity(metadata));
    if let Some(deleted) = &metadata.deletion_file {
        state += &format!(" -{}.{}", deleted.read_version, deleted.id);
    }
    state
}

impl Fragment {
    async fn of(dataset: &Dataset, fragment: &FileFragment) -> Result<Self> {
        let rows = fragment.physical_rows().await?;
        let deleted = fragment.get_deletion_vector().await?;
        let alive = deleted.map(|deleted| {
            BooleanBuffer::collect_bool(rows, |offset| !deleted.contains(offset as u32))
        });
        let id = fragment.id() as u32;
        let ids = if dataset.manifest().uses_stable_row_ids() {
            let sequence = load_row_id_sequence(dataset, fragment.metadata()).await?;
            if sequence.len() != rows as u64 {
                return Err(Error::invalid("a fragment's rows and their ids differ"));
            }
            ids(sequence.iter())
        } else {
            Ids::Range(u64::from(id) << 32)
        };
        Ok(Self { rows, alive, ids })
    }

    pub fn is_alive(&self, offset: usize) -> bool {
        self.alive.as_ref().is_none_or(|alive| alive.value(offset))
    }

    pub fn row_id(&self, offset: usize) -> u64 {
        match &self.ids {
            Ids::Range(first) => first + offset as u64,
            Ids::Listed(ids) => ids[offset],
        }
    }

    fn weight(&self) -> usize {
        let alive = self.alive.as_ref().map_or(0, |alive| alive.len() / 8);
        let ids = match &self.ids {
            Ids::Range(_) => 0,
            Ids::Listed(ids) => ids.len() * 8,
        };
        alive + ids + 128
    }
}

fn ids(ids: impl Iterator<Item = u64>) -> Ids {
    let ids: Vec<u64> = ids.collect();
    match ids.first() {
        Some(first) if ids.iter().zip(*first..).all(|(id, next)| *id == next) => Ids::Range(*first),
        None => Ids::Range(0),
        _ => Ids::Listed(ids),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment(list: &[u64], alive: Option<&[bool]>) -> Fragment {
        Fragment {
            rows: list.len(),
            alive: alive.map(|alive| alive.iter().copied().collect()),
            ids: ids(list.iter().copied()),
        }
    }

    #[test]
    fn ids_in_a_row_are_a_range() {
        let together = fragment(&[7, 8, 9], None);
        assert!(matches!(together.ids, Ids::Range(7)));
        assert_eq!((together.row_id(2), together.is_alive(2)), (9, true));
        let apart = fragment(&[7, 9, 8], Some(&[true, false, true]));
        assert!(matches!(apart.ids, Ids::Listed(_)));
        assert_eq!((apart.row_id(1), apart.is_alive(1)), (9, false));
    }
}
