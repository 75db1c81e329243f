//! How much a query may ask for.

use crate::error::{Error, Result};

/// Edits that a word may be away. Beyond it nearly every word of a dictionary is within reach.
pub(super) const MOST_EDITS: u8 = 5;

/// Bounds on one query. A query beyond them is refused before it costs anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Queries within queries.
    pub depth: usize,
    /// Queries of every kind, all together.
    pub clauses: usize,
    /// Bytes of text, all together.
    pub text_bytes: usize,
    /// Words after analysis and expansion, all together.
    pub terms: usize,
    /// Expansions of one match; more are not looked for.
    pub expansions: usize,
    /// Edits that a word may be away.
    pub edits: u8,
    /// What `slop` may be.
    pub slop: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth: 20,
            clauses: 256,
            text_bytes: 32 << 10,
            terms: 2_048,
            expansions: 1_000,
            edits: MOST_EDITS,
            slop: 100,
        }
    }
}

/// What is left of the limits while a query is read.
pub(super) struct Budget {
    pub limits: Limits,
    clauses: usize,
    text_bytes: usize,
}

impl Budget {
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            clauses: 0,
            text_bytes: 0,
        }
    }

    pub fn clause(&mut self, depth: usize) -> Result<()> {
        self.clauses += 1;
        if self.clauses > self.limits.clauses {
            return Err(Error::invalid(format!(
                "the text query has more than {} clauses; ask for less at once",
                self.limits.clauses
            )));
        }
        if depth > self.limits.depth {
            return Err(Error::invalid(format!(
                "the text query is nested more than {} deep",
                self.limits.depth
            )));
        }
        Ok(())
    }

    pub fn text(&mut self, text: &str) -> Result<()> {
        self.text_bytes += text.len();
        if self.text_bytes > self.limits.text_bytes {
            return Err(Error::invalid(format!(
                "the text query has more than {} bytes of text",
                self.limits.text_bytes
            )));
        }
        Ok(())
    }
}
