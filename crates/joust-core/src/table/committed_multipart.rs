//! Whether the commit of a multipart write was made.
//!
//! The transaction of the commit contains the id of the write, as long as its version exists. After the clean-up of the
//! version, the data files of the parts decide: no other commit adds them, so a version that references them came after
//! it.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use super::multipart::read;
use super::{ReadOptions, Table};
use crate::error::{Code, Error, Result};

impl Table {
    /// The version that the commit of a write created, if there is one; `began`: the version for which the parts were
    /// written; `parts`: the [contents](super::Part::contents) of each. If that version is cleaned up, returns the
    /// oldest version with the rows.
    ///
    /// Code 14 if the required versions are cleaned up and no other one has files of the write.
    pub async fn committed_parts(
        &self,
        id: &str,
        began: u64,
        parts: &[Vec<u8>],
    ) -> Result<Option<u64>> {
        let dataset = self.newest().await?;
        let since = began + 1..=dataset.version_id();
        let mut is_certain = true;
        for version in since.clone().rev() {
            match dataset.read_transaction_by_version(version).await {
                Ok(Some(transaction)) if transaction.uuid == id => return Ok(Some(version)),
                Ok(_) => {}
                Err(error) if is_gone(&error) => is_certain = false,
                Err(error) => return Err(error.into()),
            }
        }
        if is_certain {
            return Ok(None);
        }
        match self.first_with(parts, since).await? {
            None => Err(unknown_outcome()),
            version => Ok(version),
        }
    }

    /// The oldest of these versions that references a data file of the parts.
    async fn first_with(
        &self,
        parts: &[Vec<u8>],
        among: RangeInclusive<u64>,
    ) -> Result<Option<u64>> {
        let mut files = HashSet::new();
        for part in parts {
            let (_, fragments) = read(part)?;
            let written = fragments.into_iter().flat_map(|fragment| fragment.files);
            files.extend(written.map(|file| file.path));
        }
        let versions = self.list_versions().await?.into_iter();
        for version in versions.map(|found| found.version) {
            if !among.contains(&version) {
                continue;
            }
            let dataset = match self.dataset(ReadOptions::at(version)).await {
                // The version was just cleaned up.
                Err(error) if error.code() == Code::TableVersionNotFound => continue,
                found => found?,
            };
            let mut fragments = dataset.manifest().fragments.iter();
            if fragments.any(|own| own.files.iter().any(|file| files.contains(&file.path))) {
                return Ok(Some(version));
            }
        }
        Ok(None)
    }
}

fn is_gone(error: &lance::Error) -> bool {
    use lance::Error as L;
    matches!(error, L::VersionNotFound { .. } | L::DatasetNotFound { .. }) || error.is_not_found()
}

fn unknown_outcome() -> Error {
    Error::new(
        Code::ConcurrentModification,
        "the outcome of the write is unknown, because version clean-up removed the versions that show it: \
         read the table before you write it again in a new upload",
    )
}
