//! A multipart write, which becomes visible as one version.
//!
//! The data files of each part are written when it arrives, for the version at which the whole write began; no manifest
//! references them. The caller stores the description of a part ([`Part::contents`]): an Arrow schema as an IPC stream,
//! with the fragments in its metadata. At the end one commit references the files of all parts.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::Schema as ArrowSchema;
use arrow::ipc::reader::StreamReader;
use lance::Dataset;
use lance::dataset::WriteMode;
use lance::dataset::transaction::{Operation, Transaction};
use lance_core::datatypes::Schema;
use lance_table::format::Fragment;
use object_store::path::Path;

use super::stage::with_columns;
use super::write::commit_to;
use super::{ReadOptions, Table};
use crate::commit::{Policy, columns_changed, is_conflict};
use crate::error::{Code, Error, Result};
use crate::ipc::{Encode, Encoder, Format, UploadReader, decode};
use crate::schema::check_not_view;

/// The metadata key of the fragments.
const FRAGMENTS: &str = "joust:fragments";

/// The files that one part of a write put into the table's data directory.
#[derive(Debug, Clone)]
pub struct Part {
    /// The description for [`Table::commit_parts`] and [`Table::remove_parts`].
    pub contents: Vec<u8>,
    pub num_rows: u64,
}

/// A whole write, ready to commit.
#[derive(Debug, Clone)]
pub struct PartsCommit {
    /// Unique to the write; stored with the version: see [`Table::committed_parts`].
    pub id: String,
    /// The version for which the parts were written.
    pub version: u64,
    /// Replace schema and rows; else append.
    pub overwrite: bool,
    /// [`Part::contents`] of each.
    pub parts: Vec<Vec<u8>>,
}

impl Table {
    /// Writes one part of a larger write for `version`. It is not visible, but durable if the configuration requires
    /// it. A failure leaves at most files that no version references.
    pub async fn write_part(
        &self,
        upload: UploadReader,
        overwrite: bool,
        version: u64,
    ) -> Result<Part> {
        let dataset = self.part_of(version).await?;
        check_not_view(&dataset)?;
        self.check_overwrite(overwrite)?;
        let (mode, rows) = match overwrite {
            true => (WriteMode::Overwrite, with_columns(upload).await?),
            false => (WriteMode::Append, decode(upload).await?.1),
        };
        let rows = match self.rows() {
            Some(own) => {
                let newest = self.changeable().await?;
                if !own.reads_same_columns(&dataset, &newest)? {
                    return Err(outdated_parts());
                }
                own.check_inserted(&dataset, rows)?
            }
            None => rows,
        };
        let (transaction, num_rows) = self.stage(&dataset, mode, rows).await?;
        let (schema, fragments) = match transaction.operation {
            Operation::Append { fragments } => (dataset.schema().clone(), fragments),
            Operation::Overwrite {
                schema, fragments, ..
            } => (schema, fragments),
            other => {
                return Err(Error::invalid(format!(
                    "a part can't be written as {}",
                    other.name()
                )));
            }
        };
        Ok(Part {
            contents: encode(&schema, &fragments)?,
            num_rows,
        })
    }

    /// The version for which parts are written.
    async fn part_of(&self, version: u64) -> Result<Arc<Dataset>> {
        match self.dataset(ReadOptions::at(version)).await {
            Err(error) if error.code() == Code::TableVersionNotFound => Err(version_gone()),
            found => found,
        }
    }

    /// Makes the rows of all parts visible in one version; returns it.
    ///
    /// Code 20 if the parts have different schemas. Code 19 if the table has changed so that the parts no longer fit,
    /// or if the version for which they were written is removed: the client must write them again.
    pub async fn commit_parts(&self, commit: PartsCommit) -> Result<u64> {
        self.check_overwrite(commit.overwrite)?;
        let dataset = self.changeable().await?;
        // An overwrite has its own schema.
        let written = match commit.overwrite {
            true => Vec::new(),
            false => vec![self.part_of(commit.version).await?],
        };
        let transaction = Transaction {
            read_version: commit.version,
            uuid: commit.id,
            operation: operation(commit.overwrite, &commit.parts)?,
            tag: None,
            transaction_properties: None,
        };
        let context = self.commit_context(Policy::Multipart, || 0);
        let commit = commit_to(dataset).execute(transaction);
        let committed = self.commit_in(context.written_for(written), commit).await;
        let committed = committed.map_err(outdated)?;
        Ok(self.committed(committed))
    }

    /// A caller with a row filter replaces no rows: some may be hidden. Its parts were checked when it wrote them.
    fn check_overwrite(&self, overwrite: bool) -> Result<()> {
        match overwrite && self.rows().is_some() {
            true => Err(Error::new(
                Code::PermissionDenied,
                "a grant with a row filter does not permit an upload that replaces the rows of the table",
            )),
            false => Ok(()),
        }
    }

    /// Removes the files of parts that will not be committed.
    pub async fn remove_parts(&self, parts: &[Vec<u8>]) -> Result<()> {
        for part in parts {
            let (_, fragments) = read(part)?;
            self.remove_files(&fragments).await?;
        }
        Ok(())
    }

    /// Removes the files of fragments that no version references.
    pub(crate) async fn remove_files(&self, fragments: &[Fragment]) -> Result<()> {
        if fragments.is_empty() {
            return Ok(());
        }
        let (store, base) = self.handle.files().await?;
        let data = base.join("data");
        for file in fragments.iter().flat_map(|fragment| &fragment.files) {
            if file.base_id.is_some() {
                continue;
            }
            let path = file.path.split('/').fold(data.clone(), Path::join);
            ignore_missing(store.delete(&path).await)?;
            // Blob values are beside their file.
            let name = file.path.rsplit('/').next().unwrap_or_default();
            let stem = name.strip_suffix(".lance").unwrap_or(name);
            ignore_missing(store.remove_dir_all(data.clone().join(stem)).await)?;
        }
        Ok(())
    }
}

fn ignore_missing(removed: lance::Result<()>) -> Result<()> {
    match removed {
        Err(error) if !error.is_not_found() => Err(error.into()),
        _ => Ok(()),
    }
}

fn encode(schema: &Schema, fragments: &[Fragment]) -> Result<Vec<u8>> {
    let fragments = serde_json::to_string(fragments)
        .map_err(|error| Error::internal("the fragments can't be described", error))?;
    let schema = ArrowSchema::from(schema);
    let mut metadata = schema.metadata.clone();
    metadata.insert(FRAGMENTS.to_string(), fragments);
    let mut encoder = Encoder::new(Format::Stream, &schema.with_metadata(metadata))?;
    encoder.finish()?;
    Ok(encoder.take())
}

/// Decodes [`Part::contents`].
pub(super) fn read(contents: &[u8]) -> Result<(ArrowSchema, Vec<Fragment>)> {
    let mut schema = StreamReader::try_new(contents, None)?
        .schema()
        .as_ref()
        .clone();
    let fragments = schema.metadata.remove(FRAGMENTS).unwrap_or_default();
    let fragments = serde_json::from_str(&fragments)
        .map_err(|error| Error::internal("the stored record of a part cannot be decoded", error))?;
    Ok((schema, fragments))
}

fn operation(overwrite: bool, parts: &[Vec<u8>]) -> Result<Operation> {
    let mut schemas = Vec::new();
    let mut fragments = Vec::new();
    for part in parts {
        let (schema, written) = read(part)?;
        schemas.push(schema);
        fragments.extend(written);
    }
    let Some(schema) = schemas.first() else {
        return Err(Error::invalid("the write has no parts"));
    };
    if !overwrite {
        return Ok(Operation::Append { fragments });
    }
    if schemas.iter().any(|other| other.fields != schema.fields) {
        return Err(Error::new(
            Code::TableSchemaValidationError,
            "the parts of the write have different schemas; send parts of one schema",
        ));
    }
    let schema = Schema::try_from(schema)?;
    check_field_ids(&schema, &fragments)?;
    Ok(Operation::Overwrite {
        fragments,
        schema,
        config_upsert_values: None,
        initial_bases: None,
    })
}

/// Arrow schemas have no field ids, so the conversion assigns new ones; the files must have the same ids.
fn check_field_ids(schema: &Schema, fragments: &[Fragment]) -> Result<()> {
    let known: BTreeSet<i32> = schema.fields_pre_order().map(|field| field.id).collect();
    let files = fragments.iter().flat_map(|fragment| &fragment.files);
    let strange = files
        .flat_map(|file| file.fields.iter())
        .any(|id| !known.contains(id));
    if strange {
        return Err(outdated_parts());
    }
    Ok(())
}

/// A commit first opens the version for which its files were written. If that is removed, nothing was committed.
pub(super) fn is_version_gone(error: &lance::Error) -> bool {
    use lance::Error as L;
    matches!(error, L::DatasetNotFound { .. } | L::VersionNotFound { .. })
}

pub(super) fn version_gone() -> Error {
    Error::new(
        Code::InvalidTableState,
        "the version that the rows were written against is gone: send them again",
    )
}

fn outdated(error: lance::Error) -> Error {
    if is_version_gone(&error) {
        return version_gone();
    }
    if columns_changed(&error) {
        return outdated_parts();
    }
    match Error::from(error) {
        error if is_conflict(&error) => outdated_parts(),
        error => error,
    }
}

fn outdated_parts() -> Error {
    Error::new(
        Code::InvalidTableState,
        "the table was changed meanwhile so that the parts do not fit it any more; send them again \
         in a new upload",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_onto_a_removed_version_asks_for_the_rows_again() {
        let gone = lance::Error::VersionNotFound {
            message: "3".into(),
        };
        let error = outdated(gone);
        assert_eq!(error.code(), Code::InvalidTableState);
        assert!(error.message().contains("send them again"));
        let other = outdated(lance::Error::InvalidRef {
            message: "no".into(),
        });
        assert_eq!(other.code(), Code::InvalidInput);
    }
}
