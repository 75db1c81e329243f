//! Which files a transaction may have written.

use std::path::{Path, PathBuf};

use lance::Result;
use lance_table::feature_flags::MANAGED_BLOBS_META_KEY;
use lance_table::format::{DataFile, Fragment, IndexMetadata, Manifest, Transaction};
use lance_table::io::deletion::relative_deletion_file_path;
use lance_table::transaction::{Operation, Transaction as Change};

use crate::storage::fsync_blobs::BLOBS;

/// Files and directories, relative to the table, that were or may have been written for a version.
pub(super) fn files(
    manifest: &Manifest,
    indices: Option<&[IndexMetadata]>,
    transaction: Option<Transaction>,
) -> Result<Vec<PathBuf>> {
    let mut files = Files::default();
    // Lance does not pass on a transaction that is too long for the manifest: assume all files.
    let Some(transaction) = transaction else {
        files.fragments(&manifest.fragments);
        files.indices(indices);
        files.blobs();
        return Ok(files.0);
    };
    match Change::try_from(transaction.inner)?.operation {
        Operation::Append { fragments }
        | Operation::Overwrite { fragments, .. }
        | Operation::Merge { fragments, .. } => files.fragments(&fragments),
        Operation::Delete {
            updated_fragments, ..
        } => files.fragments(&updated_fragments),
        Operation::Update {
            updated_fragments,
            new_fragments,
            ..
        } => {
            files.fragments(&updated_fragments);
            files.fragments(&new_fragments);
        }
        Operation::Rewrite {
            groups,
            rewritten_indices,
            ..
        } => {
            for group in groups {
                files.fragments(&group.new_fragments);
            }
            for index in rewritten_indices {
                files.index(&index.new_id.to_string());
            }
            // The record of moved rows is stored as an index.
            files.indices(indices);
        }
        Operation::CreateIndex { new_indices, .. } => files.indices(Some(&new_indices)),
        Operation::DataReplacement { replacements } => {
            for replacement in replacements {
                files.data_file(&replacement.1);
            }
        }
        Operation::DataOverlay { groups } => {
            for overlay in groups.iter().flat_map(|group| &group.overlays) {
                files.data_file(&overlay.data_file);
            }
        }
        // A deep copy has copied all that the version names; a shallow one names files elsewhere.
        Operation::Clone { .. } => {
            files.fragments(&manifest.fragments);
            files.indices(indices);
        }
        // These change the manifest alone.
        Operation::Restore { .. }
        | Operation::ReserveFragments { .. }
        | Operation::Project { .. }
        | Operation::UpdateConfig { .. }
        | Operation::UpdateMemWalState { .. }
        | Operation::UpdateBases { .. }
        // Lance reads these and never commits them.
        | Operation::Unknown { .. } => {}
    }
    if manifest.has_managed_blobs() && !files.0.is_empty() {
        files.blobs();
    }
    Ok(files.0)
}

/// The files that a transaction of new rows for a version wrote, relative to the table.
pub(super) fn appended(transaction: &Change, version: &Manifest) -> Vec<PathBuf> {
    let mut files = Files::default();
    let mut has_blobs = version.has_managed_blobs();
    match &transaction.operation {
        Operation::Append { fragments } => files.fragments(fragments),
        Operation::Overwrite {
            fragments, schema, ..
        } => {
            files.fragments(fragments);
            has_blobs |= schema.metadata.contains_key(MANAGED_BLOBS_META_KEY);
        }
        _ => {}
    }
    if has_blobs {
        files.blobs();
    }
    files.0
}

#[derive(Default)]
struct Files(Vec<PathBuf>);

impl Files {
    fn fragments(&mut self, fragments: &[Fragment]) {
        for fragment in fragments {
            let overlays = fragment.overlays.iter().map(|overlay| &overlay.data_file);
            for file in fragment.files.iter().chain(overlays) {
                self.data_file(file);
            }
            if let Some(deletions) = &fragment.deletion_file
                && deletions.base_id.is_none()
            {
                self.0
                    .push(relative_deletion_file_path(fragment.id, deletions).into());
            }
        }
    }

    fn data_file(&mut self, file: &DataFile) {
        // Of another table, which this one was cloned from.
        if file.base_id.is_some() {
            return;
        }
        let path = Path::new("data").join(&file.path);
        // Large values lie beside their data file, in a directory that has its name.
        self.0.push(path.with_extension(""));
        self.0.push(path);
    }

    fn indices(&mut self, indices: Option<&[IndexMetadata]>) {
        for index in indices.into_iter().flatten() {
            if index.base_id.is_none() {
                self.index(&index.uuid.to_string());
            }
        }
    }

    /// Large values that versions share. Only the rows tell which of them are new: see [`crate::storage::fsync_blobs`].
    fn blobs(&mut self) {
        self.0.push(BLOBS.into());
    }

    fn index(&mut self, uuid: &str) {
        self.0.push(Path::new("_indices").join(uuid));
    }
}
