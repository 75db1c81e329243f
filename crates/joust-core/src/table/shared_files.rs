//! The files of another table that a client's manifest of a shallow clone names.
//!
//! The source of a clone has rows and columns that the clone does not have: deleted ones, and those of other versions. A
//! client that writes versions of the clone itself must not show them.

use lance_table::format::{DataFile, Fragment, IndexMetadata, Manifest};

use crate::error::{Code, Error, Result};

/// A manifest and the indexes in it.
#[derive(Clone, Copy)]
pub struct Contents<'a> {
    pub manifest: &'a Manifest,
    pub indexes: &'a [IndexMetadata],
}

/// Rejects a manifest that shows more of the files of other tables than the newest version. `location`: of the table,
/// whose own files its branches name.
pub fn check(published: Contents<'_>, newest: Contents<'_>, location: &str) -> Result<()> {
    let manifest = published.manifest;
    let foreign = |base: Option<u32>| {
        let base = base.and_then(|id| manifest.base_paths.get(&id));
        base.is_some_and(|base| plain(&base.path) != plain(location))
    };
    let is_same_base = |id: &u32| {
        let path = |of: &Manifest| of.base_paths.get(id).map(|base| base.path.clone());
        path(manifest) == path(newest.manifest)
    };
    let mut bases = manifest.base_paths.keys().filter(|id| foreign(Some(**id)));
    if !bases.all(is_same_base) {
        return Err(refused());
    }
    let mut indexes = published.indexes.iter();
    let is_known = |index: &IndexMetadata| {
        let mut known = newest.indexes.iter();
        known.any(|known| finds_no_more(index, known))
    };
    if !indexes.all(|index| !foreign(index.base_id) || is_known(index)) {
        return Err(refused());
    }
    let newest = newest.manifest;
    for fragment in manifest.fragments.iter() {
        let files: Vec<&DataFile> = fragment
            .files
            .iter()
            .filter(|file| foreign(file.base_id))
            .collect();
        let deletions = fragment.deletion_file.as_ref();
        if files.is_empty() && !deletions.is_some_and(|file| foreign(file.base_id)) {
            continue;
        }
        let known = newest
            .fragments
            .iter()
            .find(|known| known.id == fragment.id);
        if !known.is_some_and(|known| shows_no_more(fragment, &files, known)) {
            return Err(refused());
        }
        let is_new = |id: &i32| {
            newest.schema.field_by_id(*id).is_none() && manifest.schema.field_by_id(*id).is_some()
        };
        if files.iter().any(|file| file.fields.iter().any(is_new)) {
            return Err(refused());
        }
    }
    Ok(())
}

/// Whether a fragment with these files of another table has no row or value of them that the known one has not.
fn shows_no_more(fragment: &Fragment, files: &[&DataFile], known: &Fragment) -> bool {
    let has_deletions = match &known.deletion_file {
        // A later file may have fewer of them.
        Some(deletions) => fragment.deletion_file.as_ref() == Some(deletions),
        None => true,
    };
    let is_known = |file: &&DataFile| {
        known.files.iter().any(|known| {
            let fields = file.fields.iter().zip(known.fields.iter());
            known.path == file.path
                && known.base_id == file.base_id
                && known.fields.len() == file.fields.len()
                && known.column_indices == file.column_indices
                // A field that another file has by now is negative.
                && fields.into_iter().all(|(own, known)| own == known || *own < 0)
        })
    };
    has_deletions && fragment.physical_rows == known.physical_rows && files.iter().all(is_known)
}

/// Whether an index is the known one, perhaps for fewer fragments.
fn finds_no_more(index: &IndexMetadata, known: &IndexMetadata) -> bool {
    let has_no_more_fragments = match (&index.fragment_bitmap, &known.fragment_bitmap) {
        (Some(own), Some(known)) => own.is_subset(known),
        (own, known) => own == known,
    };
    has_no_more_fragments
        && index.uuid == known.uuid
        && index.base_id == known.base_id
        && index.fields == known.fields
        && index.covering_fields == known.covering_fields
        && index.index_details == known.index_details
}

fn plain(location: &str) -> &str {
    let path = location.strip_prefix("file://").unwrap_or(location);
    path.trim_end_matches('/')
}

fn refused() -> Error {
    Error::new(
        Code::InvalidInput,
        "the manifest at `manifest_path` names files of the source of this shallow clone in another way than \
         the newest version: make the change through the server, or in a deep clone",
    )
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use arrow::datatypes::{DataType, Field, Schema as ArrowSchema};
    use lance_core::datatypes::Schema;
    use lance_table::format::{BasePath, DataStorageFormat, DeletionFile, DeletionFileType};
    use uuid::Uuid;

    use super::*;

    const LOCATION: &str = "/data/clone.lance";

    fn deletions(id: u64, base_id: Option<u32>) -> DeletionFile {
        DeletionFile {
            read_version: 1,
            id,
            file_type: DeletionFileType::Array,
            num_deleted_rows: Some(1),
            base_id,
        }
    }

    /// A manifest with the columns `names` and one fragment, whose file is in the base 1.
    fn manifest(base: &str, names: &[&str], change: impl FnOnce(&mut Fragment)) -> Manifest {
        let fields = names
            .iter()
            .map(|name| Field::new(*name, DataType::Int64, true));
        let schema = ArrowSchema::new(fields.collect::<Vec<_>>());
        let mut fragment = Fragment::new(0).with_physical_rows(10);
        fragment.files = vec![DataFile {
            path: "data.lance".into(),
            fields: Arc::from([0, 1]),
            column_indices: Arc::from([0, 1]),
            file_major_version: 2,
            file_minor_version: 0,
            file_size_bytes: Default::default(),
            base_id: Some(1),
        }];
        change(&mut fragment);
        let bases = HashMap::from([(1, BasePath::new(1, base.into(), None, true))]);
        Manifest::new(
            Schema::try_from(&schema).unwrap(),
            Arc::new(vec![fragment]),
            DataStorageFormat::default(),
            bases,
        )
    }

    /// Checks manifests without indexes.
    fn check(manifest: &Manifest, newest: &Manifest, location: &str) -> Result<()> {
        let contents = |manifest| Contents {
            manifest,
            indexes: &[],
        };
        super::check(contents(manifest), contents(newest), location)
    }

    fn of_source(names: &[&str], change: impl FnOnce(&mut Fragment)) -> Manifest {
        manifest("/data/source.lance", names, change)
    }

    #[test]
    fn a_manifest_shows_no_more_of_the_source() {
        let newest = of_source(&["a"], |fragment| {
            fragment.deletion_file = Some(deletions(7, Some(1)));
        });
        let with = |change: fn(&mut Fragment)| check(&of_source(&["a"], change), &newest, LOCATION);
        assert!(with(|fragment| fragment.deletion_file = Some(deletions(7, Some(1)))).is_ok());
        assert!(with(|_| {}).is_err());
        assert!(with(|fragment| fragment.deletion_file = Some(deletions(8, None))).is_err());
        let other_file = |fragment: &mut Fragment| {
            fragment.deletion_file = Some(deletions(7, Some(1)));
            fragment.files[0].path = "other.lance".into();
        };
        assert!(with(other_file).is_err());
        let other_fragment = |fragment: &mut Fragment| {
            fragment.deletion_file = Some(deletions(7, Some(1)));
            fragment.id = 3;
        };
        assert!(with(other_fragment).is_err());
        let dropped_column = of_source(&["a", "b"], |fragment| {
            fragment.deletion_file = Some(deletions(7, Some(1)));
        });
        assert!(check(&dropped_column, &newest, LOCATION).is_err());
    }

    #[test]
    fn rows_may_be_deleted_and_columns_replaced() {
        let newest = of_source(&["a", "b"], |_| {});
        let with =
            |change: fn(&mut Fragment)| check(&of_source(&["a", "b"], change), &newest, LOCATION);
        assert!(with(|fragment| fragment.deletion_file = Some(deletions(8, None))).is_ok());
        assert!(with(|fragment| fragment.files[0].fields = Arc::from([0, -2])).is_ok());
        assert!(with(|fragment| fragment.files[0].fields = Arc::from([1, 0])).is_err());
    }

    #[test]
    fn a_base_stays_the_same_and_the_files_of_the_table_are_its_own() {
        let newest = of_source(&["a"], |_| {});
        let moved = manifest("/data/third.lance", &["a"], |_| {});
        assert!(check(&moved, &newest, LOCATION).is_err());
        // As a branch names the files of its table.
        let newest = manifest("file:///data/clone.lance/", &["a"], |fragment| {
            fragment.deletion_file = Some(deletions(7, Some(1)));
        });
        let changed = manifest("/data/clone.lance", &["a", "b"], |_| {});
        assert!(check(&changed, &newest, LOCATION).is_ok());
    }

    #[test]
    fn an_index_of_the_source_stays_the_same_or_covers_fewer_fragments() {
        let manifest = of_source(&["a"], |_| {});
        let index = |fragments: &[u32]| IndexMetadata {
            uuid: Uuid::from_u128(1),
            fields: vec![0],
            covering_fields: Vec::new(),
            name: "a_idx".into(),
            dataset_version: 1,
            fragment_bitmap: Some(fragments.iter().copied().collect()),
            index_details: None,
            index_version: 1,
            created_at: None,
            base_id: Some(1),
            files: None,
        };
        let known = [index(&[0, 1])];
        let newest = Contents {
            manifest: &manifest,
            indexes: &known,
        };
        let with = |index: IndexMetadata| {
            let published = Contents {
                manifest: &manifest,
                indexes: &[index],
            };
            super::check(published, newest, LOCATION).is_ok()
        };
        assert!(with(index(&[0, 1])));
        assert!(with(index(&[1])));
        assert!(!with(index(&[0, 1, 2])));
        let other = |change: fn(&mut IndexMetadata)| {
            let mut other = index(&[0]);
            change(&mut other);
            with(other)
        };
        assert!(other(|index| index.name = "renamed".into()));
        assert!(!other(|index| index.uuid = Uuid::from_u128(2)));
        assert!(!other(|index| index.fields = vec![1]));
        assert!(!other(|index| index.fragment_bitmap = None));
        // The table's own index.
        assert!(other(|index| {
            index.uuid = Uuid::from_u128(2);
            index.base_id = None;
        }));
    }
}
