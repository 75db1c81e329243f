//! Payloads of the functions of virtual columns.

use lance::Dataset;

use super::Table;
use crate::error::{Code, Error, Result};
use crate::schema::FunctionColumn;

/// Directory of a table with the payloads, each under its SHA-256.
const DIRECTORY: &str = "_udfs";

impl Table {
    /// Stores a payload under its SHA-256 (hex), unless it exists; returns its path in the table.
    pub async fn keep_function(&self, sha256: &str, payload: Vec<u8>) -> Result<String> {
        if sha256.len() != 64 || !sha256.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(Error::invalid(
                "a function is kept under the 64 hex digits of its SHA-256",
            ));
        }
        self.newest().await?;
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
        needed.sort_unstable();
        needed.dedup();
        for sha256 in needed {
            // Without its file, a virtual column keeps its values and has no further backfill.
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
                     declare the column again"
                ),
            )),
            Err(error) => Err(error.into()),
        }
    }
}
