//! Commits with an unknown outcome.

use std::error::Error as StdError;

use super::{Code, storage};

/// The code and message of a failure after which the version may exist or not.
pub(super) fn outcome(error: &(dyn StdError + 'static)) -> Option<(Code, String)> {
    let error = error.downcast_ref::<lance::Error>()?;
    let (code, cause) = match error.find_root() {
        // Only commits have a timeout in Lance.
        lance::Error::Timeout { .. } => (
            Code::ServiceUnavailable,
            "the storage did not answer in time",
        ),
        _ if error.is_commit_status_unknown() => {
            let known = storage::failure(error).map(|(code, _)| code);
            (
                known.unwrap_or(Code::Internal),
                "the storage failed during the commit",
            )
        }
        _ => return None,
    };
    let message = format!(
        "{cause}, and the outcome of the change is unknown: read the table before you send it again"
    );
    Some((code, message))
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::super::Error;
    use super::*;

    #[test]
    fn a_commit_with_an_unknown_outcome_is_not_reported_as_failed() {
        let unknown = |cause| lance::Error::commit_status_unknown_source(7, Box::new(cause));
        let broken = io::Error::from_raw_os_error(5);
        for (error, code) in [
            (unknown(lance::Error::io("reset")), Code::Internal),
            (
                unknown(lance::Error::from(broken)),
                Code::ServiceUnavailable,
            ),
            (lance::Error::timeout("too long"), Code::ServiceUnavailable),
        ] {
            let error = Error::of_input(error);
            assert_eq!(error.code(), code);
            assert!(error.message().contains("read the table"), "{error}");
        }
    }
}
