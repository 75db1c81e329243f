//! Symbolic links below a local root.
//!
//! A link can lead anywhere. A link to a Lance table can serve as the table if the operator allows it. joust never
//! removes or creates anything behind a link.

use std::io::{ErrorKind, Result};
use std::path::{Path, PathBuf};

use parking_lot::RwLock;

use super::contents::holds_version;
use super::local_path;
use crate::error::{Code, Error};

/// The policy of an engine.
#[derive(Debug)]
pub(crate) struct Links {
    follow: bool,
    /// The local root: the operator chose the links above it.
    root: RwLock<Option<PathBuf>>,
}

/// The position of a link in a location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passed {
    /// A directory above the location is a link.
    Above,
    /// The location itself is one.
    Itself,
}

impl Links {
    /// `follow`: whether joust follows links to tables.
    pub fn new(follow: bool) -> Self {
        Self {
            follow,
            root: RwLock::default(),
        }
    }

    pub fn follow(&self) -> bool {
        self.follow
    }

    /// Sets the root: locations below it are checked from there on.
    pub fn below(&self, root: &str) {
        *self.root.write() = local_path(root).map(Path::to_path_buf);
    }

    /// The outermost link between the root and a path on a local disk, including the path.
    pub fn passed(&self, place: &Path) -> Result<Option<Passed>> {
        let root = self.root.read();
        let above = root.as_deref().filter(|root| place.starts_with(root));
        let mut on_the_way: Vec<&Path> = match above {
            Some(root) => place.ancestors().take_while(|at| at != &root).collect(),
            None => vec![place],
        };
        on_the_way.reverse();
        for at in on_the_way {
            match at.symlink_metadata() {
                Ok(metadata) if metadata.is_symlink() && at == place => {
                    return Ok(Some(Passed::Itself));
                }
                Ok(metadata) if metadata.is_symlink() => return Ok(Some(Passed::Above)),
                Ok(_) => {}
                Err(error) if is_absence(&error) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Rejects a table behind a link (code 19) if links are not followed.
    pub fn check(&self, location: &str) -> crate::Result<()> {
        let Some(place) = local_path(location).filter(|_| !self.follow) else {
            return Ok(());
        };
        match self.passed(place)? {
            None => Ok(()),
            Some(_) => Err(Error::new(
                Code::InvalidTableState,
                "the table is reached through a symbolic link, and this server follows none \
                 (--follow-links never)",
            )),
        }
    }
}

/// Whether the path does not exist: a file in place of a directory counts as absent.
pub(super) fn is_absence(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Why a link cannot serve as a table; `None` if it leads to one.
pub(super) fn refusal(link: &Path, follow: bool) -> Option<String> {
    if !follow {
        return Some("it is a symbolic link, and --follow-links is never".to_string());
    }
    match link.metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Some("it is a symbolic link to nothing".to_string());
        }
        Err(error) => return Some(format!("it is a symbolic link that leads nowhere: {error}")),
        Ok(target) if !target.is_dir() => {
            return Some("it is a symbolic link to what is not a directory".to_string());
        }
        Ok(_) => {}
    }
    match holds_version(link) {
        Ok(true) => None,
        Ok(false) => Some("it is a symbolic link to what is not a Lance table".to_string()),
        Err(error) => Some(format!(
            "it is a symbolic link to what can't be read: {error}"
        )),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{create_dir_all, write};
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_links_below_the_root_count() {
        let place = tempfile::tempdir().unwrap();
        let real = place.path().join("real");
        create_dir_all(real.join("a/t.lance")).unwrap();
        let root = place.path().join("root");
        symlink(&real, &root).unwrap();
        symlink(real.join("a"), real.join("b")).unwrap();
        symlink(real.join("a/t.lance"), real.join("c.lance")).unwrap();
        let links = Links::new(false);
        links.below(root.to_str().unwrap());
        let passed = |at: &str| links.passed(&root.join(at)).unwrap();
        assert_eq!(passed("a/t.lance"), None);
        assert_eq!(passed("not/there"), None);
        assert_eq!(passed("b/t.lance"), Some(Passed::Above));
        assert_eq!(passed("c.lance"), Some(Passed::Itself));
        assert_eq!(passed("c.lance/data"), Some(Passed::Above));
        assert!(
            links
                .check(root.join("a/t.lance").to_str().unwrap())
                .is_ok()
        );
        let refused = links.check(root.join("c.lance").to_str().unwrap());
        assert_eq!(refused.unwrap_err().code(), Code::InvalidTableState);
        assert!(links.check("s3://bucket/t.lance").is_ok());
    }

    #[test]
    fn a_link_stands_for_a_table_or_says_why_not() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        create_dir_all(at("table/_versions")).unwrap();
        write(at("table/_versions/1.manifest"), b"").unwrap();
        create_dir_all(at("other/_versions")).unwrap();
        write(at("file"), b"").unwrap();
        create_dir_all(at("unreadable")).unwrap();
        symlink("_versions", at("unreadable/_versions")).unwrap();
        for (name, target, why) in [
            ("good", "table", None),
            ("empty", "other", Some("not a Lance table")),
            ("leaf", "file", Some("not a directory")),
            ("dangling", "missing", Some("nothing")),
            ("loop", "loop", Some("nowhere")),
            ("hidden", "unreadable", Some("can't be read")),
        ] {
            let link = at(name);
            symlink(at(target), &link).unwrap();
            let refused = refusal(&link, true);
            assert_eq!(refused.is_some(), why.is_some(), "{name}: {refused:?}");
            assert!(
                refused
                    .unwrap_or_default()
                    .contains(why.unwrap_or_default()),
                "{name}"
            );
            assert!(refusal(&link, false).is_some_and(|why| why.contains("never")));
        }
    }
}
