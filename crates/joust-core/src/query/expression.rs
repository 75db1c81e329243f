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

use crate::error::{Error, Result};

/// Operators that may apply to one another. Ten times as many still plan within the engine's stacks.
const MAX_CHAIN: usize = 500;
/// ANDs and ORs in one expression.
const MAX_CONDITIONS: usize = 20_000;

/// A condition as Lance may have it: all of the text or an error.
pub fn condition(sql: &str) -> Result<String> {
    check(sql)?;
    Ok(format!("(\n{sql}\n)"))
}

/// Refuses an expression that Lance would misread or could not plan.
pub fn check(sql: &str) -> Result<()> {
    let mut scan = Scan::default();
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
        scan.token(token)?;
        at = end;
    }
    scan.finish()
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

/// What is known after a part of the text: for each open parenthesis the length of its chain.
struct Scan {
    chains: Vec<usize>,
    conditions: usize,
    /// The last token was a value, so that an operator after it joins two.
    after_value: bool,
}

impl Default for Scan {
    fn default() -> Self {
        Self {
            chains: vec![0],
            conditions: 0,
            after_value: false,
        }
    }
}

impl Scan {
    fn token(&mut self, token: &str) -> Result<()> {
        match token {
            "(" => self.chains.push(0),
            ")" => {
                // What was inside is an operand of what is outside.
                let inner = self.chains.pop().unwrap_or(0);
                if self.chains.is_empty() {
                    return Err(unbalanced());
                }
                self.extend(inner)?;
            }
            "," => self.cut(),
            "+" | "-" | "*" | "/" | "%" | "|" | "&" | "^" | "=" | "<" | ">" | "!"
                if self.after_value =>
            {
                self.extend(1)?;
            }
            _ if token.eq_ignore_ascii_case("and") || token.eq_ignore_ascii_case("or") => {
                self.conditions += 1;
                if self.conditions > MAX_CONDITIONS {
                    return Err(Error::invalid(format!(
                        "the expression joins more than {MAX_CONDITIONS} conditions; compare with a \
                         list instead: column IN (…)"
                    )));
                }
                self.cut();
            }
            _ => {}
        }
        if !token.trim().is_empty() {
            self.after_value =
                token == ")" || token.starts_with(['\'', '"', '`']) || is_word(token.as_bytes()[0]);
        }
        Ok(())
    }

    fn extend(&mut self, by: usize) -> Result<()> {
        if let Some(chain) = self.chains.last_mut() {
            *chain += by;
        }
        if self.chains.iter().sum::<usize>() > MAX_CHAIN {
            return Err(Error::invalid(format!(
                "the expression applies more than {MAX_CHAIN} operators to one another; split it"
            )));
        }
        Ok(())
    }

    fn finish(&self) -> Result<()> {
        if self.chains.len() == 1 {
            Ok(())
        } else {
            Err(unbalanced())
        }
    }

    fn cut(&mut self) {
        if let Some(chain) = self.chains.last_mut() {
            *chain = 0;
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
