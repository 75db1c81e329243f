//! The error type of the engine: an error code and a sentence for the client.
//!
//! Lance, DataFusion and Arrow describe failures for their developers: with source positions, storage paths and variant
//! names. Clients must not see these, so every foreign error is translated here, once, into a code and a cleaned
//! sentence; the original is stored as `source` for the server's log.

mod clean;
mod storage;
mod unknown;

use std::fmt;
use std::sync::Arc;

use self::clean::clean;

/// The numbered errors of the Lance namespace interface (`ErrorResponse.code`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Code {
    Unsupported = 0,
    TableNotFound = 4,
    TableAlreadyExists = 5,
    TableIndexNotFound = 6,
    TableIndexAlreadyExists = 7,
    TableTagNotFound = 8,
    TableTagAlreadyExists = 9,
    TableVersionNotFound = 11,
    TableColumnNotFound = 12,
    InvalidInput = 13,
    ConcurrentModification = 14,
    PermissionDenied = 15,
    ServiceUnavailable = 17,
    Internal = 18,
    InvalidTableState = 19,
    TableSchemaValidationError = 20,
    Throttling = 21,
    TableBranchNotFound = 22,
    TableBranchAlreadyExists = 23,
}

type Source = Arc<dyn std::error::Error + Send + Sync>;

/// A failure with its error code and a message that states what is wrong and what is valid.
#[derive(Debug, Clone)]
pub struct Error {
    code: Code,
    message: String,
    source: Option<Source>,
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            source: None,
        }
    }

    /// Invalid input: code 13.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidInput, message)
    }

    /// A failure that the client did not cause: code 18, or 17 if the storage is full, read-only or failing. Only the
    /// log has the cause.
    pub fn internal(
        message: impl Into<String>,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        let (code, message) =
            storage::failure(&source).unwrap_or_else(|| (Code::Internal, message.into()));
        Self {
            code,
            message,
            source: Some(Arc::new(source)),
        }
    }

    /// A service that joust needs does not do its work: code 17. Only the log has the cause.
    pub fn unavailable(
        message: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self {
            code: Code::ServiceUnavailable,
            message: message.into(),
            source: Some(Arc::from(source.into())),
        }
    }

    /// A failure while the engine processed a client's input.
    pub(crate) fn of_input(error: impl Into<Self>) -> Self {
        error.into().blame_input()
    }

    pub fn code(&self) -> Code {
        self.code
    }

    pub fn message(&self) -> &str {
        &self.message
    }

    /// The underlying cause, for the server's log only.
    pub fn cause(&self) -> Option<String> {
        self.source.as_ref().map(ToString::to_string)
    }

    /// The same failure, attributed to the client's input: an internal failure while planning or evaluating a client's
    /// expressions is the client's error.
    fn blame_input(mut self) -> Self {
        if let (Code::Internal, Some(source)) = (self.code, &self.source)
            && !is_storage_failure(source.as_ref())
            && unknown::outcome(source.as_ref()).is_none()
        {
            self.code = Code::InvalidInput;
            self.message = clean(&source.to_string());
        }
        if self.code == Code::InvalidInput && self.message.contains("No field named") {
            self.code = Code::TableColumnNotFound;
        }
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn std::error::Error + 'static))
    }
}

impl From<lance::Error> for Error {
    fn from(error: lance::Error) -> Self {
        use lance::Error as L;
        if let Some(own) = find_own(&error) {
            return own.clone();
        }
        if is_exhausted(&error) {
            return exhausted();
        }
        if let Some((code, message)) = unknown::outcome(&error).or_else(|| storage::failure(&error))
        {
            return Self {
                code,
                message,
                source: Some(Arc::new(error)),
            };
        }
        let (code, message) = match &error {
            L::InvalidInput { source, .. } | L::NotSupported { source, .. } => {
                (Code::InvalidInput, clean(&source.to_string()))
            }
            L::DatasetAlreadyExists { .. } => {
                (Code::TableAlreadyExists, "the table already exists".into())
            }
            L::DatasetNotFound { .. } => {
                (Code::TableNotFound, "the table's files do not exist".into())
            }
            L::SchemaMismatch { difference, .. } => (
                Code::TableSchemaValidationError,
                // Lance's wording, which the LanceDB SDKs' users know.
                format!("Append with different schema: {}", clean(difference)),
            ),
            L::Schema { message, .. } => (Code::TableSchemaValidationError, clean(message)),
            L::FieldNotFound { source } => (Code::TableColumnNotFound, clean(&source.to_string())),
            L::InvalidRef { message } => (Code::InvalidInput, clean(message)),
            L::VersionNotFound { message } => (Code::TableVersionNotFound, clean(message)),
            L::RefNotFound { message } => (Code::TableTagNotFound, clean(message)),
            L::IndexNotFound { .. } => (Code::TableIndexNotFound, "there is no such index".into()),
            L::CommitConflict { .. }
            | L::IncompatibleTransaction { .. }
            | L::RetryableCommitConflict { .. }
            | L::TooMuchWriteContention { .. } => (
                Code::ConcurrentModification,
                "another writer changed the table at the same time; read it again and retry".into(),
            ),
            L::Backpressure { .. } => (
                Code::Throttling,
                "the table takes no more writes right now; try again".into(),
            ),
            _ => (
                Code::Internal,
                "the engine failed; the server's log says why".into(),
            ),
        };
        Self {
            code,
            message,
            source: Some(Arc::new(error)),
        }
    }
}

impl From<arrow::error::ArrowError> for Error {
    fn from(error: arrow::error::ArrowError) -> Self {
        lance::Error::from(error).into()
    }
}

impl From<datafusion::error::DataFusionError> for Error {
    fn from(error: datafusion::error::DataFusionError) -> Self {
        if let Some(own) = find_own(&error) {
            return own.clone();
        }
        lance::Error::from(error).into()
    }
}

impl From<object_store::Error> for Error {
    fn from(error: object_store::Error) -> Self {
        Self::internal("the storage failed; the server's log says why", error)
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::internal("the storage failed; the server's log says why", error)
    }
}

/// joust's own error inside the wrappers of Lance, DataFusion and Arrow: an error from a stream that they consumed is
/// returned unchanged.
fn find_own<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a Error> {
    // Lance's wrapper reports the source of the wrapped error as its own source, so the wrapped error would be skipped.
    if let Some(lance::Error::External { source, .. }) = error.downcast_ref::<lance::Error>() {
        return find_own(source.as_ref());
    }
    match error.downcast_ref::<Error>() {
        Some(own) => Some(own),
        None => error.source().and_then(find_own),
    }
}

/// Whether a plan failed because it reached its memory limit.
pub fn is_exhausted(error: &(dyn std::error::Error + 'static)) -> bool {
    use datafusion::error::DataFusionError;
    let here = error.downcast_ref::<DataFusionError>();
    matches!(here, Some(DataFusionError::ResourcesExhausted(_)))
        || error.source().is_some_and(is_exhausted)
}

/// A retry would fail again.
fn exhausted() -> Error {
    Error::invalid(
        "the request needs more memory, or more temporary files, than a single one may have; let it \
         sort, join or merge less at once",
    )
}

/// Failures of disks, stores and files, independent of the request. Lance also reports DataFusion's internal errors as
/// `IO`, so the underlying cause decides.
fn is_storage_failure(error: &(dyn std::error::Error + 'static)) -> bool {
    use lance::Error as L;
    let here = matches!(
        error.downcast_ref::<L>(),
        Some(L::CorruptFile { .. } | L::NotFound { .. } | L::DiskCapExceeded { .. })
    ) || error.is::<std::io::Error>()
        || error.is::<object_store::Error>();
    here || error.source().is_some_and(is_storage_failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_joust_survives_wrapping_by_libraries() {
        let own = Error::invalid("the stream ended early");
        let through = datafusion::error::DataFusionError::External(Box::new(own));
        let back = Error::from(through);
        assert_eq!(back.code(), Code::InvalidInput);
        assert_eq!(back.message(), "the stream ended early");
        let own = Error::new(Code::InvalidTableState, "a value is damaged");
        let through = datafusion::error::DataFusionError::External(Box::new(own));
        let back = Error::of_input(lance::Error::from(through));
        assert_eq!(back.code(), Code::InvalidTableState);
    }
}
