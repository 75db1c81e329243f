//! The largest size of a value, relative to its row.
//!
//! Functions are evaluated over a batch of rows at once, outside of the memory budget of queries, and a failed
//! allocation aborts the process. The limit of a batch is therefore known before planning: each value has at most a
//! fixed number of bytes and a factor of the row size.

use crate::error::{Error, Result};

/// Bytes that may be added to each row: 64 MiB for a batch of 8,192.
const MAX_ADDED: u64 = 8 << 10;
/// Bytes of a list literal.
const MAX_LIST: u64 = 1 << 20;
/// The most times by which a value may exceed its row.
pub const MAX_GROWTH: u64 = 64;

/// At most `fixed` bytes and `factor` times the bytes of the row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    pub fixed: u64,
    pub factor: u64,
}

impl Size {
    /// Numbers, dates, booleans, checksums.
    pub const SMALL: Self = Self {
        fixed: 64,
        factor: 0,
    };
    /// A column of the row.
    pub const COLUMN: Self = Self {
        fixed: 0,
        factor: 1,
    };

    pub fn literal(bytes: usize) -> Self {
        Self {
            fixed: bytes as u64,
            factor: 0,
        }
    }

    pub fn plus(self, other: Self) -> Self {
        Self {
            fixed: self.fixed.saturating_add(other.fixed),
            factor: self.factor.saturating_add(other.factor),
        }
    }

    pub fn or(self, other: Self) -> Self {
        Self {
            fixed: self.fixed.max(other.fixed),
            factor: self.factor.max(other.factor),
        }
    }

    pub fn times(self, count: u64) -> Self {
        Self {
            fixed: self.fixed.saturating_mul(count),
            factor: self.factor.saturating_mul(count),
        }
    }

    /// Zero for numbers, dates and booleans: they are negligible beside the rows.
    pub fn without_small(self) -> Self {
        match self == Self::SMALL {
            true => Self::default(),
            false => self,
        }
    }

    /// Whether it is the same for every row.
    pub fn is_constant(self) -> bool {
        self.factor == 0
    }

    /// Rejects a value that adds too much to every row.
    pub fn check_added(self) -> Result<()> {
        let most = match self.is_constant() {
            true => super::MAX_LITERAL as u64,
            false => MAX_ADDED,
        };
        if self.fixed > most {
            return Err(Error::invalid(format!(
                "the expression could add {} bytes to each row; it may add {most}: give shorter texts",
                self.fixed
            )));
        }
        Ok(())
    }

    /// Rejects a list literal that is too long.
    pub fn check_list(self) -> Result<()> {
        if self.fixed > MAX_LIST {
            return Err(Error::invalid(format!(
                "the expression has a list of {} bytes; one may have {MAX_LIST}",
                self.fixed
            )));
        }
        Ok(())
    }

    /// Rejects a value that could be much larger than its row.
    pub fn check_growth(self) -> Result<()> {
        if self.factor > MAX_GROWTH {
            return Err(too_long("the expression"));
        }
        Ok(())
    }
}

pub fn too_long(what: &str) -> Error {
    Error::invalid(format!(
        "{what} could make a text or list more than {MAX_GROWTH} times as long; put fewer columns \
         together with ||, concat, replace and the like"
    ))
}
