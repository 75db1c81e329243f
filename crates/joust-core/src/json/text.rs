//! The nesting depth of a JSON text, as Lance's parser reads it.
//!
//! The parser accepts more than JSON: strings in single quotes, keys without quotes, and escapes of any length.
//! Brackets inside strings do not count, so strings are skipped here exactly as in `lance-jsonb`, `parser.rs`. The
//! result for rejected texts does not matter.

/// Whether a value is nested in more than `most` arrays and objects.
pub fn is_deeper(text: &[u8], most: usize) -> bool {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        at += 1;
        match byte {
            b'[' | b'{' => {
                depth += 1;
                if depth > most {
                    return true;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            quote @ (b'"' | b'\'') => at = after_string(text, at, *quote),
            _ => {}
        }
    }
    false
}

/// The position after a string's closing quote; the string begins at `at`.
fn after_string(text: &[u8], mut at: usize, quote: u8) -> usize {
    while let Some(byte) = text.get(at) {
        at += 1;
        if *byte == quote {
            break;
        }
        if *byte == b'\\' {
            at += match (text.get(at), text.get(at + 1)) {
                // `\u{1234}`, and `\u1234`: the parser skips this many bytes, whatever they are.
                (Some(b'u'), Some(b'{')) => 7,
                (Some(b'u'), _) => 5,
                _ => 1,
            };
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use lance_arrow::json::encode_json;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn brackets_in_strings_do_not_count() {
        for (text, depth) in [
            ("1", 0),
            ("[]", 1),
            (r#"{"a": [1, {"b": 2}]}"#, 3),
            (r#"["[[[[", '{{{', {a: "]"}]"#, 2),
            (r#"["\"[[[", "\\", [1]]"#, 2),
            (r#"["\u0022[[[", [1]]"#, 2),
            (r#"["\u{005b}[[[", [1]]"#, 2),
            ("[[],[],[[]]]", 3),
        ] {
            assert!(!is_deeper(text.as_bytes(), depth), "{text}");
            assert!(
                depth == 0 || is_deeper(text.as_bytes(), depth - 1),
                "{text}"
            );
        }
    }

    proptest! {
        /// A value that Lance's parser accepts is nested no deeper than reported.
        #[test]
        fn what_the_parser_accepts_is_not_deeper(
            parts in prop::collection::vec(prop::sample::select(vec![
                "[", "]", "{", "}", ",", ":", "\"", "'", "\\", "\\u", "u", "{", "0041", "a", "1",
                "\"k\":", "k:", "\\\"", " ", "\\n", "é", "[[", "]]", "null",
            ]), 0..24),
        ) {
            let text = parts.concat();
            if let Ok(stored) = encode_json(&text) {
                let depth = (0..64).find(|most| !is_deeper(text.as_bytes(), *most)).unwrap();
                prop_assert_eq!(crate::json::stored::flaw(&stored, depth), None, "{}", text);
            }
        }
    }
}
