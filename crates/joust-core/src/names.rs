//! Names of columns, tags and branches from clients, checked before Lance uses them: Lance stores some names that it
//! cannot read back.

use crate::error::{Code, Error, Result};

/// Columns that the engine adds to results.
const ANSWER_COLUMNS: &[&str] = &["_distance", "_score", "query_index"];
/// Bytes of a tag's or branch's name. Lance and the store add up to 45 while they write, and most file systems allow
/// 255.
const MAX_REFERENCE: usize = 200;

/// Rejects a name that queries could not refer to.
pub fn check_column(name: &str) -> Result<()> {
    let refused = name.trim().is_empty()
        || name.contains(['.', '`'])
        || name.starts_with("_row")
        || ANSWER_COLUMNS.contains(&name)
        || name.chars().any(char::is_control);
    if !refused {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "`{}` is no column name; it must not be empty, hold a dot, a backtick or a control \
         character, begin with `_row`, or be one of {}",
        short(name),
        ANSWER_COLUMNS.join(", ")
    )))
}

/// Start of the names of the tags that keep the files which clones of the table read.
pub const CLONE_TAG_PREFIX: &str = "joust-clone-";

/// Whether a tag keeps the files of a clone.
pub fn is_clone_tag(name: &str) -> bool {
    name.starts_with(CLONE_TAG_PREFIX)
}

/// The kind of a named reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    Tag,
    /// May be in groups: `team/work`.
    Branch,
}

/// Whether the name is valid for a tag or branch.
pub fn is_reference(kind: Reference, name: &str) -> bool {
    let is_segment = |part: &str| {
        !matches!(part, "" | "." | "..")
            && !part.ends_with(".lock")
            && part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
    };
    let is_whole = match kind {
        Reference::Tag => is_segment(name),
        Reference::Branch => name.split('/').all(is_segment),
    };
    // Lance encodes a slash in a file name as three bytes.
    name.len() + 2 * name.matches('/').count() <= MAX_REFERENCE && is_whole
}

/// Rejects an invalid name of a new tag or branch.
pub fn check_reference(kind: Reference, name: &str) -> Result<()> {
    if is_reference(kind, name) {
        return Ok(());
    }
    let what = match kind {
        Reference::Tag => "tag",
        Reference::Branch => "branch",
    };
    Err(Error::invalid(format!(
        "`{}` is no {what} name; use up to {MAX_REFERENCE} letters, digits, `.`, `_` and `-`",
        short(name)
    )))
}

/// The error of a request for a branch that does not exist.
pub fn unknown_branch(name: &str) -> Error {
    Error::new(
        Code::TableBranchNotFound,
        format!("there is no branch `{}`", short(name)),
    )
}

/// The beginning of a name, for a message.
pub fn short(name: &str) -> String {
    name.chars().take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lance_could_not_read_back_are_refused() {
        for name in ["", " ", "a.b", "a`b", "_rowid", "_distance", "a\nb"] {
            assert!(check_column(name).is_err(), "{name}");
        }
        for name in ["a", "Größe", "_private", "two words"] {
            assert!(check_column(name).is_ok(), "{name}");
        }
        for name in ["", ".", "..", "é", "a b", "a/b", "x.lock"] {
            assert!(!is_reference(Reference::Tag, name), "{name}");
        }
        assert!(is_reference(Reference::Branch, "team/work-1"));
        assert!(!is_reference(Reference::Branch, "team//x"));
        assert!(!is_reference(Reference::Branch, &"x".repeat(300)));
    }
}
