//! What a backfill asks of workers, and what they hand back.

use std::hash::{DefaultHasher, Hash, Hasher};

use lance::dataset::fragment::FileFragment;
use serde::{Deserialize, Serialize};

use super::binding::Binding;
use super::changed::Since;
use super::evaluate::Tally;
use super::stage::Basis;
use crate::error::{Error, Result};
use crate::functions::BatchBounds;
use crate::schema::FunctionColumn;

/// What workers need to compute fragments of a column.
#[derive(Debug, Clone, Serialize)]
pub struct Order {
    /// Path or URI of the table, or of the branch.
    pub location: String,
    /// The version to read.
    pub version: u64,
    pub column: String,
    pub nullable: bool,
    pub function: FunctionColumn,
    /// The names from the root to each argument of the function.
    pub arguments: Vec<Vec<String>>,
    /// SQL; rows for which it is not true keep their value.
    pub condition: Option<String>,
    /// Only rows that have changed since this backfill are computed.
    pub changed_since: Option<Since>,
    pub batches: BatchBounds,
    /// The most fragments at the same time; `None`: as many as there are workers.
    pub concurrency: Option<usize>,
    pub fragments: Vec<OrderedFragment>,
    /// The function as its client sent it.
    #[serde(skip)]
    pub payload: Vec<u8>,
}

/// A fragment to compute.
#[derive(Debug, Clone, Serialize)]
pub struct OrderedFragment {
    pub id: u64,
    /// Stored rows, deleted ones included.
    pub rows: u64,
    /// Names the values that the backfill needs. Another state of the fragment or another computation has another key.
    pub key: String,
}

/// The column of a fragment, as a worker hands it over.
#[derive(Debug, Deserialize)]
pub struct Part {
    pub fragment: u64,
    pub key: String,
    /// Name of the file in the data directory of the table, or of the branch.
    pub file: String,
    pub tally: Tally,
}

impl Order {
    /// All but the payload of the function.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(self)
            .map_err(|error| Error::internal("the order could not be written", error))
    }

    pub fn find(&self, fragment: u64, key: &str) -> Option<&OrderedFragment> {
        let mut fragments = self.fragments.iter();
        fragments.find(|one| one.id == fragment && one.key == key)
    }
}

impl Part {
    /// Code 13 for another text.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text)
            .map_err(|error| Error::invalid(format!("the part of a worker is invalid: {error}")))
    }
}

/// The fragment of an order.
pub fn ordered(
    fragment: &FileFragment,
    binding: &Binding,
    changed_since: Option<Since>,
) -> OrderedFragment {
    let metadata = fragment.metadata();
    let basis = Basis::of(metadata, &binding.inputs.field_ids());
    let mut hasher = DefaultHasher::new();
    binding.identity().hash(&mut hasher);
    format!("{basis:?} {:?} {changed_since:?}", metadata.deletion_file).hash(&mut hasher);
    OrderedFragment {
        id: fragment.id() as u64,
        rows: fragment.fast_physical_rows().unwrap_or(0) as u64,
        key: format!("{:016x}", hasher.finish()),
    }
}
