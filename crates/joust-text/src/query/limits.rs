//! Limits of one query.

use crate::error::{Error, Result};

/// The most edits of a fuzzy match. With more, nearly every word of a dictionary matches.
pub(super) const MOST_EDITS: u8 = 5;

/// Limits of one query. A query that exceeds them is rejected before it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Depth of nested queries.
    pub depth: usize,
    /// Total number of queries of every kind.
    pub clauses: usize,
    /// Total bytes of text.
    pub text_bytes: usize,
    /// Total number of words after analysis and expansion.
    pub terms: usize,
    /// Expansions of one match; further ones are ignored.
    pub expansions: usize,
    /// Edits of a fuzzy match.
    pub edits: u8,
    /// The largest `slop`.
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

/// The remaining limits while a query is decoded.
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
