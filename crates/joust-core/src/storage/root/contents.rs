//! Inspects a location.

use std::fs::{read_dir, symlink_metadata};
use std::io::{ErrorKind, Result};
use std::path::Path as LocalPath;

use futures::TryStreamExt;

use super::links::{Links, Passed, is_absence};
use super::removal::VERSIONS;
use super::{Sessions, StorageOptions, local_path, store};
use crate::blocking_executor::step;

/// The kind of content at a location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contents {
    /// No file, and no directory with entries.
    Nothing,
    /// A version of a Lance table, perhaps through a symbolic link.
    Table,
    /// Anything else.
    Other,
    /// The server lacks permission or cannot read it.
    Unreadable,
    /// A directory above the location is a symbolic link, which joust does not follow.
    BehindLink,
}

const MANIFEST_SUFFIX: &str = ".manifest";

/// Inspects without opening.
pub(crate) async fn contents(
    sessions: &Sessions,
    links: &Links,
    location: &str,
    storage_options: StorageOptions,
) -> crate::Result<Contents> {
    if let Some(place) = local_path(location) {
        if links.passed(place)? == Some(Passed::Above) {
            return Ok(Contents::BehindLink);
        }
        let place = place.to_path_buf();
        let looked = step(move || Ok(local_contents(&place).unwrap_or(Contents::Unreadable)));
        return Ok(looked.await?);
    }
    let (store, base) = store(sessions, location, storage_options).await?;
    let mut versions = store.list(Some(base.clone().join(VERSIONS)));
    while let Some(object) = versions.try_next().await? {
        let name = object.location.filename();
        if name.is_some_and(|name| name.ends_with(MANIFEST_SUFFIX)) {
            return Ok(Contents::Table);
        }
    }
    Ok(match store.list(Some(base)).try_next().await? {
        Some(_) => Contents::Other,
        None => Contents::Nothing,
    })
}

fn local_contents(place: &LocalPath) -> Result<Contents> {
    let metadata = match symlink_metadata(place) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Contents::Nothing),
        // A file in place of a directory.
        Err(error) if is_absence(&error) => return Ok(Contents::Other),
        metadata => metadata?,
    };
    if metadata.is_symlink() {
        // A broken link is content, too.
        return Ok(match holds_version(place) {
            Ok(true) => Contents::Table,
            _ => Contents::Other,
        });
    }
    if !metadata.is_dir() {
        return Ok(Contents::Other);
    }
    if holds_version(place)? {
        return Ok(Contents::Table);
    }
    Ok(match read_dir(place)?.next().transpose()? {
        Some(_) => Contents::Other,
        None => Contents::Nothing,
    })
}

/// Whether a directory contains a version of a Lance table.
pub(super) fn holds_version(directory: &LocalPath) -> Result<bool> {
    let versions = match read_dir(directory.join(VERSIONS)) {
        Err(error) if is_absence(&error) => return Ok(false),
        versions => versions?,
    };
    for entry in versions {
        let name = entry?.file_name();
        if name
            .to_str()
            .is_some_and(|name| name.ends_with(MANIFEST_SUFFIX))
        {
            return Ok(true);
        }
    }
    Ok(false)
}
