//! The check that a creation makes the first version.
//!
//! Lance looks for the table again before it commits a new one. If another writer has created it meanwhile, Lance
//! commits the rows as the next version, which replaces those of the other writer without an error.

use lance_table::io::commit::CommitError;
use object_store::path::Path;

use super::policy::Policy;

/// Refuses a creation that would replace a table.
pub(super) fn check(policy: Policy, version: u64, base: &Path) -> Result<(), CommitError> {
    match policy {
        Policy::Create if version > 1 => Err(CommitError::OtherError(
            lance::Error::dataset_already_exists(base.to_string()),
        )),
        _ => Ok(()),
    }
}
