//! Depth limits of JSON and of paths into JSON. Lance reads both recursively: a value with a million levels would
//! overflow the stack, which aborts the process.

use crate::error::{Error, Result};

/// Nested arrays and objects, and parentheses of a path.
pub const MAX_DEPTH: usize = 64;
/// Nested parentheses and filters of a path; each may double the time to parse it.
const MAX_PATH_DEPTH: usize = 8;
/// Bytes of a path.
const MAX_PATH: usize = 1 << 10;

/// The largest number of open brackets of these kinds, outside of texts in double quotes.
pub fn depth(text: &str, opening: &[u8]) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    let mut bytes = text.bytes();
    let mut is_quoted = false;
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'\\' if is_quoted => {
                bytes.next();
            }
            _ if is_quoted => {}
            _ if opening.contains(&byte) => {
                open += 1;
                deepest = deepest.max(open);
            }
            b')' if opening.contains(&b'(') => open = open.saturating_sub(1),
            b']' if opening.contains(&b'[') => open = open.saturating_sub(1),
            b'}' if opening.contains(&b'{') => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Rejects JSON that is nested more deeply than Lance can read.
pub fn check(json: &str) -> Result<()> {
    if depth(json, b"[{") > MAX_DEPTH {
        return Err(Error::invalid(format!(
            "the JSON is nested too deeply: it may have {MAX_DEPTH} arrays and objects in one another"
        )));
    }
    Ok(())
}

/// Rejects a path into JSON that is nested more deeply than Lance can read.
pub fn check_path(path: &str) -> Result<()> {
    let opened = path.bytes().filter(|byte| matches!(byte, b'(' | b'!'));
    if path.len() > MAX_PATH || opened.count() > MAX_PATH_DEPTH {
        return Err(Error::invalid(format!(
            "a JSON path may have {MAX_PATH} bytes, and {MAX_PATH_DEPTH} parentheses and negations"
        )));
    }
    if depth(path, b"[{(") > MAX_DEPTH {
        return Err(Error::invalid(format!(
            "the JSON path is nested too deeply: it may have {MAX_DEPTH} brackets in one another"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_are_counted_outside_of_texts() {
        assert_eq!(depth("[[1], [2, [3]]]", b"[{"), 3);
        assert_eq!(depth(r#"{"a": ["[[[["], "b\"[": {}}"#, b"[{"), 2);
        assert_eq!(depth("]]]]", b"[{"), 0);
        assert!(check(&"[".repeat(MAX_DEPTH)).is_ok());
        assert!(check(&"[".repeat(MAX_DEPTH + 1)).is_err());
        assert!(check(&r#"{"a":"#.repeat(1_000_000)).is_err());
    }

    #[test]
    fn paths_are_bounded() {
        for path in ["$.a.b[0]", "$.tags[*]", "$.a[?(@.price > 3)].b"] {
            assert!(check_path(path).is_ok(), "{path}");
        }
        assert!(check_path(&format!("$?{}", "(".repeat(100))).is_err());
        assert!(check_path(&format!("$?({})", "!".repeat(100))).is_err());
        assert!(check_path(&format!("$.{}", "a".repeat(2_000))).is_err());
    }
}
