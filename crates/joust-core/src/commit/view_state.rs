//! The state of a materialized view: which versions of its sources its rows come from.
//!
//! The state is in the manifest with the rows, so it is always theirs, whatever happens to other versions of the view.
//! A refresh computes its rows for one state. Lance would also commit them on the version of another refresh, if both
//! only add rows; this step refuses that.

use lance_table::format::Manifest;
use lance_table::io::commit::CommitError;

use crate::error::{Code, Error};

/// Keys in the manifest's table metadata.
const KEY: &str = "joust.view.state";
/// The next row id of the version that has the state. A refresh that knows nothing of states uses up ids.
const NEXT_ROW_ID: &str = "joust.view.next_row_id";

/// What a refresh changes in the manifest besides the rows.
#[derive(Debug, Clone)]
pub(crate) struct ViewState {
    /// The last state in the version for which the rows were computed.
    pub before: Option<String>,
    pub after: String,
    /// The ids of its rows are below this one.
    pub next_row_id: u64,
}

impl ViewState {
    /// The state of a version of a view; `None` if it is not the one of its rows.
    pub fn of(manifest: &Manifest) -> Option<&str> {
        let next = manifest.table_metadata.get(NEXT_ROW_ID)?;
        let is_current = *next == manifest.next_row_id.to_string();
        Self::last(manifest).filter(|_| is_current)
    }

    /// The last state that was written.
    pub fn last(manifest: &Manifest) -> Option<&str> {
        manifest.table_metadata.get(KEY).map(String::as_str)
    }

    /// Writes the state into the manifest of a refresh. Code 14 if another refresh was committed since `before`.
    pub(super) fn write(&self, manifest: &mut Manifest) -> Result<(), CommitError> {
        if Self::last(manifest) != self.before.as_deref() {
            let other = Error::new(
                Code::ConcurrentModification,
                "another refresh changed the view at the same time: refresh it again",
            );
            let refused: Box<dyn std::error::Error + Send + Sync> = Box::new(other);
            return Err(CommitError::OtherError(refused.into()));
        }
        manifest.next_row_id = manifest.next_row_id.max(self.next_row_id);
        let next = manifest.next_row_id.to_string();
        let metadata = &mut manifest.table_metadata;
        metadata.insert(KEY.to_string(), self.after.clone());
        metadata.insert(NEXT_ROW_ID.to_string(), next);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use lance_core::datatypes::Schema;
    use lance_table::format::DataStorageFormat;

    use super::*;

    fn manifest() -> Manifest {
        Manifest::new(
            Schema::default(),
            Arc::new(Vec::new()),
            DataStorageFormat::default(),
            HashMap::new(),
        )
    }

    fn state(before: Option<&str>, after: &str, next_row_id: u64) -> ViewState {
        ViewState {
            before: before.map(str::to_string),
            after: after.to_string(),
            next_row_id,
        }
    }

    #[test]
    fn a_refresh_replaces_the_state_for_which_its_rows_are() {
        let mut manifest = manifest();
        state(None, "a", 7).write(&mut manifest).unwrap();
        assert_eq!(ViewState::of(&manifest), Some("a"));
        assert_eq!(manifest.next_row_id, 7);
        state(Some("a"), "b", 3).write(&mut manifest).unwrap();
        assert_eq!(ViewState::of(&manifest), Some("b"));
        assert_eq!(manifest.next_row_id, 7);
    }

    #[test]
    fn rows_with_other_ids_have_no_state() {
        let mut manifest = manifest();
        state(None, "a", 7).write(&mut manifest).unwrap();
        manifest.next_row_id += 1;
        assert_eq!(ViewState::of(&manifest), None);
        state(Some("a"), "b", 0).write(&mut manifest).unwrap();
        assert_eq!(ViewState::of(&manifest), Some("b"));
    }

    #[test]
    fn a_refresh_is_refused_after_another_one() {
        let mut manifest = manifest();
        state(None, "a", 7).write(&mut manifest).unwrap();
        for before in [None, Some("z")] {
            let refused = state(before, "b", 9).write(&mut manifest).unwrap_err();
            let error = Error::from(lance::Error::from(refused));
            assert_eq!(error.code(), Code::ConcurrentModification);
            assert_eq!(ViewState::of(&manifest), Some("a"));
            assert_eq!(manifest.next_row_id, 7);
        }
    }
}
