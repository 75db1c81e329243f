//! gRPC statuses.

use std::fmt;
use std::sync::Arc;

use tonic::{Code, Status};

/// The status of a numbered error of the Lance namespace interface.
pub fn of_code(code: u32, message: impl Into<String>) -> Status {
    let grpc = match code {
        0 => Code::Unimplemented,
        1 | 4 | 6 | 8 | 10 | 11 | 12 | 22 => Code::NotFound,
        2 | 5 | 7 | 9 | 23 => Code::AlreadyExists,
        3 | 19 => Code::FailedPrecondition,
        13 | 20 => Code::InvalidArgument,
        14 => Code::Aborted,
        15 => Code::PermissionDenied,
        16 => Code::Unauthenticated,
        17 => Code::Unavailable,
        21 => Code::ResourceExhausted,
        _ => Code::Internal,
    };
    Status::new(grpc, message)
}

/// The same status with its cause, which only the log shows.
pub fn with_cause(mut status: Status, cause: String) -> Status {
    status.set_source(Arc::new(Cause(cause)));
    status
}

/// The same status with the header `retry-after` of HTTP among its metadata, s.
pub fn with_retry_after(mut status: Status, seconds: u32) -> Status {
    status.metadata_mut().insert("retry-after", seconds.into());
    status
}

#[derive(Debug)]
struct Cause(String);

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Cause {}

pub(crate) fn invalid(message: impl Into<String>) -> Status {
    Status::invalid_argument(message)
}

/// A call that joust does not serve.
pub(crate) fn unserved(what: &str) -> Status {
    Status::unimplemented(format!("joust does not serve {what}"))
}

/// A failure that the client did not cause.
pub(crate) fn internal(error: impl fmt::Display) -> Status {
    let status = Status::internal("the server could not encode its answer; its log says why");
    with_cause(status, error.to_string())
}
