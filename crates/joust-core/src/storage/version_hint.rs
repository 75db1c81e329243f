//! The hint file, in which Lance writers store the number of the newest version.
//!
//! The hint may be behind: readers look for later versions themselves. It must not stay behind where old versions
//! are removed: a writer that finds neither a newer hint nor the version after its own regards its own version
//! as the newest.

use std::fs::OpenOptions;
use std::io::{Result, Write};
use std::path::{Path, PathBuf};

use lance_table::format::is_detached_version;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Hint {
    version: u64,
}

fn path(base: &Path) -> PathBuf {
    base.join("_versions").join("latest_version_hint.json")
}

/// The version that a table's hint names, if there is a hint.
pub(crate) fn read(base: &Path) -> Option<u64> {
    let hint: Hint = serde_json::from_slice(&std::fs::read(path(base)).ok()?).ok()?;
    Some(hint.version)
}

/// Stores a committed version. Without a hint writers list all versions, which is better than a wrong hint.
pub(crate) fn write(base: &Path, version: u64) {
    if is_detached_version(version) {
        return;
    }
    let path = path(base);
    if over(&path, &Hint { version }).is_err() {
        let _ = std::fs::remove_file(&path);
    }
}

/// Overwrites the file. Between the two steps its contents are unreadable, which counts as no hint.
fn over(path: &Path, hint: &Hint) -> Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    let hint = serde_json::to_vec(hint)?;
    file.write_all(&hint)?;
    match file.metadata()?.len() > hint.len() as u64 {
        true => file.set_len(hint.len() as u64),
        false => Ok(()),
    }
}
