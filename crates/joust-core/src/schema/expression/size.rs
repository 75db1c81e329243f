//! How large a value may be, from the row that it is computed of.
//!
//! Functions are evaluated over a batch of rows at once, outside of the memory that queries take from
//! the budget, and a failed allocation ends the process. What a batch may come to is therefore known
//! before anything is planned: each value is at most so many bytes and so many times the row.

use crate::error::{Error, Result};

/// Bytes that may be added to each row: 64 MiB for a batch of 8,192.
const MAX_ADDED: u64 = 8 << 10;
/// Bytes of a list that is written out.
const MAX_LIST: u64 = 1 << 20;
/// How many times as large as its row a value may become.
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

    pub fn minus(self, other: Self) -> Self {
        Self {
            fixed: self.fixed.saturating_sub(other.fixed),
            factor: self.factor.saturating_sub(other.factor),
        }
    }

    pub fn times(self, count: u64) -> Self {
        Self {
            fixed: self.fixed.saturating_mul(count),
            factor: self.factor.saturating_mul(count),
        }
    }

    /// Nothing for numbers, dates and booleans: they are little beside the rows that are read.
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

    /// Refuses a value that is computed for every row and adds too much to it.
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

    /// Refuses a list that is written out and too long.
    pub fn check_list(self) -> Result<()> {
        if self.fixed > MAX_LIST {
            return Err(Error::invalid(format!(
                "the expression has a list of {} bytes; one may have {MAX_LIST}",
                self.fixed
            )));
        }
        Ok(())
    }

    /// Refuses a value that could be much larger than its row.
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
