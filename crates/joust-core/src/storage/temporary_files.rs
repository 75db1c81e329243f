//! Temporary files of local writers that were killed before they gave a file its name.
//!
//! Lance's clean-up removes them in `data` and `_indices`, and in `_versions` those of its own writer.

use std::fs::{DirEntry, read_dir, remove_file};
use std::io::{ErrorKind, Result};
use std::path::Path;
use std::time::SystemTime;

/// The directories of a branch in which Lance's clean-up leaves some.
const DIRECTORIES: [&str; 3] = ["_versions", "_transactions", "_deletions"];

/// Removes the temporary files of a branch that were last changed before `time`.
pub(crate) fn remove_temporary_files(branch: &Path, time: SystemTime) -> Result<()> {
    for directory in DIRECTORIES {
        let entries = match read_dir(branch.join(directory)) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            match remove_older(&entry?, time) {
                // The writer has ended meanwhile, or another clean-up has removed it.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                result => result?,
            }
        }
    }
    Ok(())
}

fn remove_older(entry: &DirEntry, time: SystemTime) -> Result<()> {
    if !entry.file_name().to_str().is_some_and(is_temporary) {
        return Ok(());
    }
    let metadata = entry.metadata()?;
    if metadata.is_file() && metadata.modified()? < time {
        remove_file(entry.path())?;
    }
    Ok(())
}

/// Lance's writer begins the name with `.tmp`. `object_store` and joust add `#` and a number to the later name, and
/// listings of `object_store` leave these out.
fn is_temporary(name: &str) -> bool {
    let is_number = |end: &str| !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_digit());
    let numbered = name.rsplit_once('#').is_some_and(|(_, end)| is_number(end));
    numbered || name.starts_with(".tmp")
}
