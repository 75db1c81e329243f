//! The row ids of rewritten fragments, and the versions in which their rows were created and changed.
//!
//! A rewrite keeps the live rows in their order, so both follow from the rewritten fragments. lance computes them in the
//! same way where it rewrites fragments itself; of a worker's rewrite, joust uses its own.

use lance::dataset::fragment::FileFragment;
use lance_table::format::{Fragment, RowIdMeta};
use lance_table::rowids::segment::U64Segment;
use lance_table::rowids::version::{
    RowDatasetVersionMeta, RowDatasetVersionRun, RowDatasetVersionSequence,
    rechunk_version_sequences,
};
use lance_table::rowids::{RowIdSequence, read_row_ids, rechunk_sequences, write_row_ids};
use roaring::RoaringTreemap;

use crate::error::{Error, Result};

/// The lineage of the live rows of some fragments, in their order.
#[derive(Default)]
pub struct RowLineage {
    ids: Vec<RowIdSequence>,
    created: Vec<RowDatasetVersionSequence>,
    updated: Vec<RowDatasetVersionSequence>,
}

/// Whether the manifest has the lineage of a fragment: a data file can have it instead.
pub fn is_inline(fragment: &Fragment) -> bool {
    let is_in_file =
        |meta: &Option<RowDatasetVersionMeta>| matches!(meta, Some(RowDatasetVersionMeta::Column));
    matches!(fragment.row_id_meta, Some(RowIdMeta::Inline(_)))
        && !is_in_file(&fragment.created_at_version_meta)
        && !is_in_file(&fragment.last_updated_at_version_meta)
}

impl RowLineage {
    /// The fragments must have stable row ids that are [inline](is_inline).
    pub async fn of(fragments: &[FileFragment]) -> Result<Self> {
        let mut lineage = Self::default();
        for fragment in fragments {
            let metadata = fragment.metadata();
            let Some(RowIdMeta::Inline(bytes)) = &metadata.row_id_meta else {
                return Err(missing(metadata));
            };
            let mut ids = read_row_ids(bytes)?;
            // Absent ones mean the first version, as in lance.
            let mut created = match &metadata.created_at_version_meta {
                Some(meta) => meta.load_sequence()?,
                None => RowDatasetVersionSequence::from_uniform_row_count(ids.len(), 1),
            };
            let mut updated = match &metadata.last_updated_at_version_meta {
                Some(meta) => meta.load_sequence()?,
                None => created.clone(),
            };
            if let Some(deleted) = fragment.get_deletion_vector().await? {
                ids.mask(deleted.to_sorted_iter())?;
                created.mask(deleted.to_sorted_iter())?;
                updated.mask(deleted.to_sorted_iter())?;
            }
            lineage.ids.push(ids);
            lineage.created.push(created);
            lineage.updated.push(updated);
        }
        Ok(lineage)
    }

    /// Gives the rows to new fragments, in their order.
    pub fn place(self, fragments: &mut [Fragment]) -> Result<()> {
        let rows: Vec<u64> = fragments
            .iter()
            .map(|one| one.physical_rows.unwrap_or(0) as u64)
            .collect();
        let rows = || rows.iter().copied();
        let ids = rechunk_sequences(self.ids, rows(), false)?;
        let created = rechunk_version_sequences(self.created, rows(), false)?;
        let updated = rechunk_version_sequences(self.updated, rows(), false)?;
        let lineages = ids.iter().zip(&created).zip(&updated);
        for (fragment, ((ids, created), updated)) in fragments.iter_mut().zip(lineages) {
            fragment.row_id_meta = Some(RowIdMeta::Inline(write_row_ids(ids).into()));
            fragment.created_at_version_meta = Some(RowDatasetVersionMeta::from_sequence(created)?);
            fragment.last_updated_at_version_meta =
                Some(RowDatasetVersionMeta::from_sequence(updated)?);
        }
        Ok(())
    }
}

/// Stores the versions of rewritten fragments as runs of rows.
///
/// lance keeps which rows the rewrite left out, often as a bitmap, in every later manifest. An update counts these rows
/// for each row that it changes.
pub fn shorten_versions(fragments: &mut [Fragment]) -> Result<()> {
    for fragment in fragments {
        let created = &mut fragment.created_at_version_meta;
        for meta in [created, &mut fragment.last_updated_at_version_meta] {
            if let Some(own @ RowDatasetVersionMeta::Inline(_)) = meta {
                *own = RowDatasetVersionMeta::from_sequence(&in_runs(&own.load_sequence()?))?;
            }
        }
    }
    Ok(())
}

/// The same versions, with one run for neighbouring rows of one version.
fn in_runs(sequence: &RowDatasetVersionSequence) -> RowDatasetVersionSequence {
    let mut runs: Vec<RowDatasetVersionRun> = Vec::new();
    let mut begin = 0;
    for run in sequence.runs.iter().filter(|run| !run.is_empty()) {
        let end = begin + run.len() as u64;
        match runs.last_mut() {
            Some(RowDatasetVersionRun {
                span: U64Segment::Range(rows),
                version,
            }) if *version == run.version => rows.end = end,
            _ => runs.push(RowDatasetVersionRun {
                span: U64Segment::Range(begin..end),
                version: run.version,
            }),
        }
        begin = end;
    }
    RowDatasetVersionSequence { runs }
}

fn missing(fragment: &Fragment) -> Error {
    Error::invalid(format!(
        "fragment {} has no row ids in the manifest",
        fragment.id
    ))
}

/// The addresses of the live rows of fragments, as lance serializes them for the remap of indexes.
pub async fn live_addresses(fragments: &[FileFragment]) -> Result<Vec<u8>> {
    let mut addresses = RoaringTreemap::new();
    for fragment in fragments {
        let first = (fragment.id() as u64) << 32;
        addresses.insert_range(first..first + fragment.physical_rows().await? as u64);
        if let Some(deleted) = fragment.get_deletion_vector().await? {
            for offset in deleted.to_sorted_iter() {
                addresses.remove(first + u64::from(offset));
            }
        }
    }
    addresses.optimize();
    let mut bytes = Vec::with_capacity(addresses.serialized_size());
    addresses
        .serialize_into(&mut bytes)
        .map_err(|error| Error::internal("the addresses of rows could not be written", error))?;
    Ok(bytes)
}
