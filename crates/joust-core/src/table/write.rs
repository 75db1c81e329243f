//! Create and overwrite: an upload becomes a version.

use std::sync::Arc;

use lance::Dataset;
use lance::dataset::transaction::Transaction;
use lance::dataset::{CommitBuilder, WriteMode};
use lance_file::version::LanceFileVersion;

use super::Table;
use super::stage::{refused, with_columns};
use crate::commit::Policy;
use crate::error::{Code, Error, Result};
use crate::ipc::{BatchStream, UploadReader};
use crate::schema::check_not_view;
use crate::storage::root::store_params;

/// The newest stable file format.
pub(super) const FORMAT: LanceFileVersion = LanceFileVersion::V2_2;

/// A committed write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    pub version: u64,
    /// Rows the upload held.
    pub num_rows: u64,
}

impl Table {
    /// Creates a table with stable row ids, so that indexes survive compaction, and in the newest stable file format.
    /// With `overwrite` one commit replaces the schema and rows of an existing table; without, an existing table is an
    /// error (code 5).
    ///
    /// A failure commits nothing; the caller must remove files that were already written.
    pub async fn create(&self, upload: UploadReader, overwrite: bool) -> Result<Written> {
        if let Some(earlier) = self.earlier().await? {
            return Ok(earlier.written());
        }
        match self.newest().await {
            Ok(existing) if overwrite => {
                check_not_view(&existing)?;
                self.replace(upload, existing).await
            }
            Ok(_) => Err(exists()),
            Err(error) if error.code() == Code::TableNotFound => {
                self.write_first(with_columns(upload).await?).await
            }
            Err(error) => Err(error),
        }
    }

    /// Writes rows as the first version of a table; code 5 if it has one.
    pub(super) async fn create_from(&self, rows: BatchStream) -> Result<Written> {
        match self.newest().await {
            Ok(_) => Err(exists()),
            Err(error) if error.code() == Code::TableNotFound => self.write_first(rows).await,
            Err(error) => Err(error),
        }
    }

    async fn write_first(&self, rows: BatchStream) -> Result<Written> {
        let staged = self.stage_new(rows).await?;
        self.commit_new(staged).await
    }

    /// Replaces schema and rows in one commit.
    pub async fn overwrite(&self, upload: UploadReader) -> Result<Written> {
        if let Some(earlier) = self.earlier().await? {
            return Ok(earlier.written());
        }
        let newest = self.changeable().await?;
        self.replace(upload, newest).await
    }

    /// Commits files as the first version of a table.
    pub(crate) async fn commit_new(&self, staged: (Transaction, u64)) -> Result<Written> {
        let mut commit = CommitBuilder::new(self.handle.location())
            .use_stable_row_ids(true)
            .enable_v2_manifest_paths(true)
            .with_storage_format(FORMAT)
            .with_session(self.handle.fresh_session())
            .with_store_params(store_params(self.handle.storage_options().clone()))
            .with_skip_auto_cleanup(true);
        if let Some(handler) = self.handle.commit_handler() {
            commit = commit.with_commit_handler(handler);
        }
        self.commit_rows(Policy::Create, commit, staged).await
    }

    async fn replace(&self, upload: UploadReader, version: Arc<Dataset>) -> Result<Written> {
        let replaced = async {
            let rows = with_columns(upload).await?;
            let staged = self.stage(&version, WriteMode::Overwrite, rows).await?;
            self.commit_rows(Policy::Overwrite, commit_to(version), staged)
                .await
        };
        self.while_there(replaced).await
    }

    /// Commits files as a version.
    async fn commit_rows(
        &self,
        policy: Policy,
        commit: CommitBuilder<'_>,
        (transaction, num_rows): (Transaction, u64),
    ) -> Result<Written> {
        let context = self.commit_context(policy, move || num_rows);
        let committed = self.commit_in(context, commit.execute(transaction)).await;
        Ok(Written {
            version: self.committed(committed.map_err(refused)?),
            num_rows,
        })
    }
}

fn exists() -> Error {
    Error::new(Code::TableAlreadyExists, "the table already exists")
}

/// A commit to a version, in the file format of that version.
pub(super) fn commit_to(version: Arc<Dataset>) -> CommitBuilder<'static> {
    let format = version.manifest().data_storage_format.lance_file_format();
    CommitBuilder::new(version)
        .with_skip_auto_cleanup(true)
        .with_storage_format(format.to_selector())
}
