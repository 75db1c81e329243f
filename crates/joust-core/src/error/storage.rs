//! Errors of a failing file system.

use std::error::Error as StdError;
use std::io;

use super::Code;

/// The code and message of a failure because the storage is full, read-only or failing. The request is valid: it
/// succeeds once the storage is repaired.
pub(super) fn failure(error: &(dyn StdError + 'static)) -> Option<(Code, String)> {
    let message = match condition(error)? {
        Condition::Full => "the storage is full; send the request again when there is space",
        Condition::ReadOnly => "the storage is read-only; send the request again when it is not",
        Condition::Broken => {
            "the storage reports an input or output error; the server's log says which"
        }
    };
    Some((Code::ServiceUnavailable, message.to_string()))
}

enum Condition {
    Full,
    ReadOnly,
    Broken,
}

/// Searches the source chain for the system's error. Some layers only keep its text.
fn condition(error: &(dyn StdError + 'static)) -> Option<Condition> {
    let here = match error.downcast_ref::<io::Error>() {
        Some(error) => of_number(error.raw_os_error()),
        None => None,
    };
    let below = || match error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref)
    {
        Some(inner) => condition(inner),
        None => error.source().and_then(condition),
    };
    here.or_else(below)
        .or_else(|| of_number(number_in(&error.to_string())))
}

fn of_number(number: Option<i32>) -> Option<Condition> {
    match number? {
        // ENOSPC, EDQUOT
        28 | 122 => Some(Condition::Full),
        // EROFS
        30 => Some(Condition::ReadOnly),
        // EIO
        5 => Some(Condition::Broken),
        _ => None,
    }
}

/// The number in `… (os error 28)`, Rust's format of system errors.
fn number_in(text: &str) -> Option<i32> {
    let (_, rest) = text.rsplit_once("(os error ")?;
    rest.split_once(')')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(error: impl StdError + 'static) -> String {
        failure(&error).map_or(String::new(), |(_, message)| message)
    }

    #[test]
    fn the_error_of_the_system_is_found_below_wrapping_errors() {
        let full = || io::Error::from_raw_os_error(28);
        assert!(message(full()).contains("full"));
        let wrapped = object_store::Error::Generic {
            store: "LocalFileSystem",
            source: Box::new(full()),
        };
        assert!(message(lance::Error::io_source(Box::new(wrapped))).contains("full"));
        assert!(message(io::Error::other(full())).contains("full"));
        let text = format!("write failed: {}", io::Error::from_raw_os_error(30));
        assert!(message(io::Error::other(text)).contains("read-only"));
        assert!(message(io::Error::from_raw_os_error(5)).contains("input or output"));
    }

    #[test]
    fn other_failures_are_not_reported_as_storage_failures() {
        assert_eq!(message(io::Error::from_raw_os_error(2)), "");
        assert_eq!(
            message(io::Error::other("the words (os error x) mean nothing")),
            ""
        );
    }
}
