//! The state of a view: the versions of its sources that its rows come from. It is in the manifest of each refresh.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lance::Dataset;
use serde::{Deserialize, Serialize};

use crate::commit::ViewState;
use crate::error::{Error, Result};

const FORMAT: u32 = 1;

/// The last refresh of a view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    format: u32,
    /// In the order of the view's tables.
    pub sources: Vec<ReadVersion>,
    /// What is added to the row id of a source to give that of the view's row, or 0 if the rows have the ids in a column;
    /// absent if it is not known from which row of the source each row comes.
    pub row_id_base: Option<u64>,
    /// When the refresh was committed, ms since 1970.
    pub refreshed_at: u64,
}

/// A version of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadVersion {
    pub version: u64,
    /// When it was committed, in nanoseconds since 1970, as text: another table of the same name has other times.
    committed_at: String,
}

impl ReadVersion {
    pub fn of(source: &Dataset) -> Self {
        Self {
            version: source.version_id(),
            committed_at: source.manifest().timestamp_nanos.to_string(),
        }
    }
}

impl State {
    /// The state after a refresh from these versions.
    pub fn after<'a>(sources: impl Iterator<Item = &'a Dataset>, row_id_base: Option<u64>) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            format: FORMAT,
            sources: sources.map(ReadVersion::of).collect(),
            row_id_base,
            refreshed_at: now.as_ref().map_or(0, Duration::as_millis) as u64,
        }
    }

    /// The state of a version of a view; `None` if no refresh has recorded one.
    pub fn of(view: &Dataset) -> Option<Self> {
        let stored: Self = serde_json::from_str(ViewState::of(view.manifest())?).ok()?;
        (stored.format == FORMAT).then_some(stored)
    }

    /// What the commit of a refresh writes. `before`: the version on which it is based.
    pub fn in_commit(&self, before: &Dataset, next_row_id: u64) -> Result<ViewState> {
        Ok(ViewState {
            before: ViewState::last(before.manifest()).map(str::to_string),
            after: serde_json::to_string(self)
                .map_err(|error| Error::internal("the state of the view can't be stored", error))?,
            next_row_id,
        })
    }
}
