//! Payloads of the functions of virtual columns and of views.

use lance::Dataset;

use super::Table;
use crate::error::{Code, Error, Result};
use crate::schema::{FunctionColumn, ViewDefinition, is_sha256};

/// Directory of a table with the payloads, each under its SHA-256.
const DIRECTORY: &str = "_udfs";

impl Table {
    /// Stores a payload under its SHA-256 (hex), unless it exists; returns its path in the table.
    pub async fn keep_function(&self, sha256: &str, payload: Vec<u8>) -> Result<String> {
        self.newest().await?;
        self.keep_function_of_new(sha256, payload).await
    }

    /// As [`keep_function`](Self::keep_function), for a table that is about to be created.
    pub(crate) async fn keep_function_of_new(
        &self,
        sha256: &str,
        payload: Vec<u8>,
    ) -> Result<String> {
        if !is_sha256(sha256) {
            return Err(Error::invalid(
                "a function is kept under the 64 hex digits of its SHA-256",
            ));
        }
        let (store, table) = self.handle.store().await?;
        let place = table.join(DIRECTORY).join(sha256);
        match store.put_if_absent(&place, payload.into()).await {
            // The name determines the content.
            Ok(()) | Err(object_store::Error::AlreadyExists { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(format!("{DIRECTORY}/{sha256}"))
    }

    /// Copies the payloads that a version of another table refers to.
    pub(super) async fn copy_functions(&self, source: &Self, version: &Dataset) -> Result<()> {
        let columns = version.schema().fields.iter().map(FunctionColumn::of);
        // An invalid declaration is one here, too.
        let mut needed: Vec<_> = columns.flatten().flatten().map(|one| one.sha256).collect();
        let view = ViewDefinition::of(version).ok();
        needed.extend(view.and_then(|view| Some(view.function?.sha256)));
        needed.sort_unstable();
        needed.dedup();
        for sha256 in needed {
            // Without its file, a virtual column keeps its values and has no further backfill. So does a view.
            match source.function_payload(&sha256).await {
                Ok(payload) => drop(self.keep_function(&sha256, payload).await?),
                Err(error) if error.code() == Code::InvalidTableState => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The payload with this SHA-256 (hex).
    pub(crate) async fn function_payload(&self, sha256: &str) -> Result<Vec<u8>> {
        let (store, table) = self.handle.store().await?;
        let place = table.join(DIRECTORY).join(sha256);
        match store.read_one_all(&place).await {
            Ok(payload) => Ok(payload.to_vec()),
            Err(error) if error.is_not_found() => Err(Error::new(
                Code::InvalidTableState,
                format!(
                    "the file of the function, {DIRECTORY}/{sha256}, is missing in the table: \
                     declare the column or the view again"
                ),
            )),
            Err(error) => Err(error.into()),
        }
    }
}
