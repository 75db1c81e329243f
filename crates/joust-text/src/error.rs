//! The errors of this crate.

use std::fmt;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug)]
pub enum Error {
    /// Invalid parameters or an invalid query of the client. The message states what is wrong and what is valid.
    Invalid(String),
    /// The caller cancelled the search.
    Interrupted,
    /// An index that can't be read or written.
    Index(tantivy::TantivyError),
}

impl Error {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid(message.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(message) => f.write_str(message),
            Self::Interrupted => f.write_str("the search was interrupted"),
            Self::Index(error) => write!(f, "text index: {error}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<tantivy::TantivyError> for Error {
    fn from(error: tantivy::TantivyError) -> Self {
        Self::Index(error)
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::Index(error.into())
    }
}
