//! JSONB, Lance's storage format of JSON.
//!
//! A container is a header of 4 bytes (kind and number of elements), an entry of 4 bytes for each element (an object
//! has one for each key and then one for each value: kind and length), and the elements themselves in sequence.

use super::Flaw;

const HEADER_KIND: u32 = 0xE000_0000;
const HEADER_COUNT: u32 = 0x1FFF_FFFF;
const ARRAY: u32 = 0x8000_0000;
const OBJECT: u32 = 0x4000_0000;
const SCALAR: u32 = 0x2000_0000;

const ENTRY_KIND: u32 = 0x7000_0000;
const ENTRY_LENGTH: u32 = 0x0FFF_FFFF;
const STRING: u32 = 0x1000_0000;
const CONTAINER: u32 = 0x5000_0000;

/// Bytes of a header and of an entry.
const WORD: usize = 4;

/// The defect of a value. Each byte is visited once: an element is within its container, and no two share bytes.
pub fn flaw(value: &[u8], most: usize) -> Option<Flaw> {
    // Lance prints it as null.
    if value.is_empty() {
        return None;
    }
    let mut open = vec![(value, 1)];
    while let Some((container, depth)) = open.pop() {
        let Some(elements) = Elements::of(container) else {
            return Some(Flaw::Malformed);
        };
        if elements.is_scalar && depth > 1 {
            return Some(Flaw::Malformed);
        }
        if !elements.is_scalar && depth > most {
            return Some(Flaw::TooDeep);
        }
        for element in elements {
            match element {
                Some((CONTAINER, bytes)) => open.push((bytes, depth + 1)),
                Some((STRING, bytes)) if std::str::from_utf8(bytes).is_err() => {
                    return Some(Flaw::Malformed);
                }
                Some(_) => {}
                None => return Some(Flaw::Malformed),
            }
        }
    }
    None
}

/// The elements of a container: their kinds and bytes. `None`: an element is not within it.
struct Elements<'a> {
    entries: &'a [u8],
    rest: &'a [u8],
    is_scalar: bool,
}

impl<'a> Elements<'a> {
    fn of(container: &'a [u8]) -> Option<Self> {
        let (header, rest) = word(container)?;
        let count = (header & HEADER_COUNT) as usize;
        let entries = match header & HEADER_KIND {
            SCALAR => 1,
            ARRAY => count,
            OBJECT => count.checked_mul(2)?,
            _ => return None,
        };
        let (entries, rest) = rest.split_at_checked(entries.checked_mul(WORD)?)?;
        Some(Self {
            entries,
            rest,
            is_scalar: header & HEADER_KIND == SCALAR,
        })
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Option<(u32, &'a [u8])>;

    fn next(&mut self) -> Option<Self::Item> {
        let (entry, entries) = word(self.entries)?;
        self.entries = entries;
        let length = (entry & ENTRY_LENGTH) as usize;
        let element = self.rest.split_at_checked(length);
        Some(element.map(|(bytes, rest)| {
            self.rest = rest;
            (entry & ENTRY_KIND, bytes)
        }))
    }
}

fn word(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (word, rest) = bytes.split_first_chunk::<WORD>()?;
    Some((u32::from_be_bytes(*word), rest))
}

/// Nested arrays of one element. Lance's writer would recurse.
#[cfg(test)]
pub fn nested(depth: usize) -> Vec<u8> {
    let size = |depth: usize| (2 * WORD * depth) as u32;
    let mut bytes = Vec::with_capacity(2 * WORD * depth);
    for around in (0..depth).rev() {
        bytes.extend((ARRAY | u32::from(around > 0)).to_be_bytes());
        if around > 0 {
            let inner = size(around) - WORD as u32;
            bytes.extend((CONTAINER | inner).to_be_bytes());
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use lance_arrow::json::{decode_json, encode_json};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_lance_writes_has_no_flaw() {
        for (text, depth) in [
            ("null", 0),
            ("\"text\"", 0),
            ("[]", 1),
            ("[1.5, -2, true, \"é\", null]", 1),
            (r#"{"a": {"b": [1, {"c": {}}]}, "d": []}"#, 5),
        ] {
            let value = encode_json(text).unwrap();
            assert_eq!(flaw(&value, depth), None, "{text}");
            if depth > 0 {
                assert_eq!(flaw(&value, depth - 1), Some(Flaw::TooDeep), "{text}");
            }
        }
        assert_eq!(flaw(&[], 0), None);
    }

    #[test]
    fn depth_is_counted_without_recursion() {
        assert_eq!(decode_json(&nested(3)), "[[[]]]");
        assert_eq!(flaw(&nested(3), 3), None);
        assert_eq!(flaw(&nested(3), 2), Some(Flaw::TooDeep));
        assert_eq!(flaw(&nested(1_000_000), usize::MAX), None);
        assert_eq!(flaw(&nested(1_000_000), 2_000), Some(Flaw::TooDeep));
    }

    #[test]
    fn claims_that_the_bytes_do_not_hold_are_malformed() {
        for value in [
            &[0x80, 0, 0][..],
            // 2^29 - 1 elements, for which Lance would allocate memory.
            &[0x9f, 0xff, 0xff, 0xff],
            &[0x80, 0, 0, 1, 0x10, 0, 0, 9, b'a'],
            // Not UTF-8.
            &[0x80, 0, 0, 1, 0x10, 0, 0, 1, 0xff],
            &[0, 0, 0, 0],
            b"text",
        ] {
            assert_eq!(flaw(value, 10), Some(Flaw::Malformed), "{value:?}");
        }
    }

    proptest! {
        #[test]
        fn damaged_values_are_looked_at_without_a_panic(
            at in 0_usize..64, byte in any::<u8>(), cut in 0_usize..64,
        ) {
            let mut value = encode_json(r#"{"a": [1, "text", {"b": [[]]}], "c": 1.5}"#).unwrap();
            let at = at % value.len();
            value[at] = byte;
            value.truncate(cut);
            let _ = flaw(&value, 10);
        }
    }
}
