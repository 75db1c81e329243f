//! The file in which Lance's writers leave the number of the newest version.
//!
//! It may be behind: whoever reads it looks for later versions itself. It must not stay behind, though,
//! where others remove old versions: a writer that finds neither a newer hint nor the version after its
//! own takes its own for the newest.

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

/// Names a version that was committed. Without a hint writers list all versions: better than a wrong one.
pub(crate) fn write(base: &Path, version: u64) {
    if is_detached_version(version) {
        return;
    }
    let path = path(base);
    if over(&path, &Hint { version }).is_err() {
        let _ = std::fs::remove_file(&path);
    }
}

/// Writes over what is there. Who reads between the two steps finds what can't be read, which counts as no
/// hint.
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
