//! Payloads of the functions of virtual columns. joust stores them and never runs them.

use super::Table;
use crate::error::{Error, Result};

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
}
