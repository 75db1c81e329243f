//! SQL expressions of clients, checked as text before Lance plans them.
//!
//! Three things Lance does not check itself:
//!
//! - It reads a condition from the front and ignores what it can't read: `id = 3 AN x = 1` would be
//!   `id = 3`, and a delete would remove more than was meant. A condition is therefore put into
//!   parentheses, which must close where the text ends.
//! - Placeholders and comments have no meaning here and end in internal errors or worse.
//! - The parser limits nested parentheses but not chains: `n+1+1+1…` becomes a tree as deep as the
//!   chain is long. Planning walks it recursively and in more than linear time, so a long one would
//!   overflow a stack, which ends the process, or keep a thread busy for minutes. Chains of AND and
//!   OR and lists are planned flat and may be long.
//! - A few functions make much out of little (`repeat('x', 1000000000)`), and a failed allocation ends
//!   the process.

use crate::error::{Error, Result};

/// Operators that may apply to one another. Ten times as many still plan within the engine's stacks.
const MAX_CHAIN: usize = 500;
/// ANDs and ORs in one expression.
const MAX_CONDITIONS: usize = 20_000;
/// Words that join two values, come after one or stand before one, as operators do.
const OPERATOR_WORDS: &[&str] = &[
    "is",
    "like",
    "ilike",
    "in",
    "between",
    "not",
    "div",
    "collate",
    "at",
    "similar",
    "rlike",
    "regexp",
    "escape",
    "xor",
    "mod",
    "isnull",
    "notnull",
    "interval",
    "prior",
    "exists",
    "case",
    "date",
    "time",
    "timestamp",
    "any",
    "all",
    "some",
    "distinct",
];
/// Functions whose result is as large as a number says.
const UNBOUNDED_FUNCTIONS: &[&str] = &[
    "repeat",
    "lpad",
    "rpad",
    "space",
    "array_repeat",
    "list_repeat",
    "array_resize",
    "list_resize",
    "range",
    "generate_series",
    "gen_series",
];
/// Functions whose result grows with each nesting.
const GROWING_FUNCTIONS: &[&str] = &["replace", "regexp_replace", "encode"];
/// Bytes of an expression that uses one of them.
const MAX_GROWING_TEXT: usize = 10_000;

/// An expression as Lance may have it: all of the text or an error.
pub fn whole(sql: &str) -> Result<String> {
    check(sql)?;
    Ok(format!("(\n{sql}\n)"))
}

/// Refuses an expression that Lance would misread or could not plan.
pub fn check(sql: &str) -> Result<()> {
    let mut scan = Scan::default();
    let mut growing = 0;
    let bytes = sql.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let end = token_end(bytes, at);
        let token = &sql[at..end];
        if matches!(token, "$" | "?") {
            return Err(Error::invalid(format!(
                "the expression has a placeholder (`{token}`); write the value itself"
            )));
        }
        if matches!(&bytes[at..bytes.len().min(at + 2)], b"--" | b"/*") {
            return Err(Error::invalid("the expression has a comment; leave it out"));
        }
        if sql[end..].trim_start().starts_with('(') {
            growing += usize::from(check_function(token)?);
        }
        scan.token(token)?;
        at = end;
    }
    if growing > 1 || growing == 1 && sql.len() > MAX_GROWING_TEXT {
        return Err(Error::invalid(format!(
            "the expression may use one of {} once, in at most {MAX_GROWING_TEXT} bytes",
            GROWING_FUNCTIONS.join(", ")
        )));
    }
    scan.finish()
}

/// Refuses a function that could ask for any amount of memory; whether it is one whose result grows
/// with its arguments.
fn check_function(token: &str) -> Result<bool> {
    let name = token.trim_matches(['"', '`']).to_ascii_lowercase();
    if UNBOUNDED_FUNCTIONS.contains(&name.as_str()) {
        return Err(Error::invalid(format!(
            "the function `{name}` is not available"
        )));
    }
    Ok(GROWING_FUNCTIONS.contains(&name.as_str()))
}

/// The end of the token that begins at a character's first byte.
fn token_end(bytes: &[u8], start: usize) -> usize {
    let rest = &bytes[start..];
    let length = match rest[0] {
        quote @ (b'\'' | b'"' | b'`') => rest[1..]
            .iter()
            .position(|byte| *byte == quote)
            .map_or(rest.len(), |at| at + 2),
        byte if is_word(byte) => rest.iter().take_while(|byte| is_word(**byte)).count(),
        _ => 1,
    };
    start + length
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// What is known after a part of the text.
struct Scan {
    /// The chain in each open parenthesis.
    open: Vec<Chain>,
    conditions: usize,
    /// The last token was a value, so that an operator after it joins two.
    after_value: bool,
}

/// Operators that apply to one another.
#[derive(Default)]
struct Chain {
    length: usize,
    /// BETWEENs whose AND is still to come.
    between: usize,
}

impl Default for Scan {
    fn default() -> Self {
        Self {
            open: vec![Chain::default()],
            conditions: 0,
            after_value: false,
        }
    }
}

impl Scan {
    fn token(&mut self, token: &str) -> Result<()> {
        let word = token.to_ascii_lowercase();
        match word.as_str() {
            "(" => self.open.push(Chain::default()),
            ")" => {
                // What was inside is an operand of what is outside.
                let inner = self.open.pop().map_or(0, |chain| chain.length);
                if self.open.is_empty() {
                    return Err(unbalanced());
                }
                self.extend(inner)?;
            }
            "," => self.cut(),
            "+" | "-" | "*" | "/" | "%" | "|" | "&" | "^" | "=" | "<" | ">" | "!" | ":" | "["
            | "#" | "~" | "@"
                if self.after_value =>
            {
                self.extend(1)?;
            }
            "and" if self.closes_between() => {}
            "and" | "or" => {
                self.conditions += 1;
                if self.conditions > MAX_CONDITIONS {
                    return Err(Error::invalid(format!(
                        "the expression joins more than {MAX_CONDITIONS} conditions; compare with a \
                         list instead: column IN (…)"
                    )));
                }
                self.cut();
            }
            operator if OPERATOR_WORDS.contains(&operator) => {
                self.extend(1)?;
                if let (true, Some(chain)) = (operator == "between", self.open.last_mut()) {
                    chain.between += 1;
                }
            }
            _ => {}
        }
        if !token.trim().is_empty() {
            let first = token.as_bytes()[0];
            self.after_value = matches!(first, b')' | b']' | b'\'' | b'"' | b'`') || is_word(first);
        }
        Ok(())
    }

    fn closes_between(&mut self) -> bool {
        match self.open.last_mut() {
            Some(chain) if chain.between > 0 => {
                chain.between -= 1;
                true
            }
            _ => false,
        }
    }

    fn extend(&mut self, by: usize) -> Result<()> {
        if let Some(chain) = self.open.last_mut() {
            chain.length += by;
        }
        if self.open.iter().map(|chain| chain.length).sum::<usize>() > MAX_CHAIN {
            return Err(Error::invalid(format!(
                "the expression applies more than {MAX_CHAIN} operators to one another; split it"
            )));
        }
        Ok(())
    }

    fn finish(&self) -> Result<()> {
        if self.open.len() == 1 {
            Ok(())
        } else {
            Err(unbalanced())
        }
    }

    fn cut(&mut self) {
        if let Some(chain) = self.open.last_mut() {
            *chain = Chain::default();
        }
    }
}

fn unbalanced() -> Error {
    Error::invalid("the expression's parentheses do not match")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_chains_are_refused_however_they_are_written() {
        for deep in [
            format!("n{} = 1", "+1".repeat(600)),
            format!("s{} = 'x'", " || 'a'".repeat(600)),
            format!(
                "{}n{} = 1",
                "(".repeat(40),
                "+1+1+1+1+1+1+1+1+1+1+1+1+1)".repeat(40)
            ),
            format!("n{}", "+1+1+1+1+1+1+1+1+1+1+1+1+(1".repeat(45)),
            format!("a{}", " = b".repeat(600)),
            format!("n{} = 1", "::int".repeat(600)),
            format!("true{}", " is true".repeat(600)),
            format!("n{}", " is null".repeat(600)),
            format!("n{}", " between 1 and 2".repeat(600)),
            format!("{}n", "not ".repeat(600)),
            format!("{}'1 day'", "interval ".repeat(600)),
            format!("n{}", "[1]".repeat(600)),
        ] {
            assert!(check(&deep).is_err(), "{}", &deep[..60]);
        }
    }

    #[test]
    fn wide_expressions_are_fine() {
        let list: Vec<String> = (0..50_000).map(|n| format!("-{n}")).collect();
        for wide in [
            format!("n IN ({})", list.join(", ")),
            vec!["(n = 1 AND m < 2 + 3)"; 5_000].join(" OR "),
            vec!["n = 1"; 10_000].join(" or "),
            format!("s = '{}'", "+".repeat(5_000)),
            "n + 1 = 2 AND s LIKE 'it''s%'".to_string(),
        ] {
            assert!(check(&wide).is_ok(), "{}", &wide[..20]);
        }
    }

    #[test]
    fn functions_that_ask_for_any_memory_are_refused() {
        for greedy in [
            "repeat(s, 1000000000) = 'x'",
            "\"REPEAT\" ('a', 9) = s",
            "array_length(range(1, 1000000000)) = 1",
            "replace(replace(s, 'a', 'aaaa'), 'a', 'aaaa') = 'x'",
        ] {
            assert!(check(greedy).is_err(), "{greedy}");
        }
        assert!(check("replace(s, 'a', 'b') = 'x' AND repeat = 1").is_ok());
    }

    #[test]
    fn too_many_conditions_are_refused_with_advice() {
        let error = check(&vec!["n = 1"; 30_000].join(" OR ")).unwrap_err();
        assert!(error.message().contains("IN ("), "{error}");
    }

    #[test]
    fn what_lance_would_misread_is_refused() {
        for text in [
            ")",
            "(",
            "id = 3) OR (true",
            "id = $1",
            "id = ?",
            "id = 3 -- all",
            "1 /* x */",
        ] {
            assert!(check(text).is_err(), "{text}");
        }
        assert!(check("s = '$1 -- ? ) /*'").is_ok());
    }

    #[test]
    fn text_that_is_no_expression_does_no_harm() {
        for text in ["", "'", "`é", "日本 + 1", "\u{0}"] {
            assert!(check(text).is_ok(), "{text}");
        }
    }
}
