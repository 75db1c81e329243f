//! The fragments whose values are those of an earlier backfill.

use std::collections::HashMap;
use std::sync::Arc;

use lance::Dataset;
use lance_table::format::Fragment;
use serde::Serialize;

use super::Backfill;
use super::binding::Binding;
use super::stage::Basis;
use crate::error::Result;
use crate::table::Table;

/// The versions of an earlier backfill of all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Since {
    /// The version whose rows it computed.
    pub computed: u64,
    /// The version with the values. It may have rows that the backfill did not compute: those of inserts that were
    /// committed while it ran.
    pub published: u64,
}

impl Since {
    /// Whether a row that was last updated in this version had other inputs before. Lance counts the values of a backfill
    /// as an update of all rows of their fragments.
    pub(super) fn is_before_change(self, updated: u64) -> bool {
        updated > self.computed && updated != self.published
    }
}

/// An earlier backfill.
pub struct Before {
    computed: Fragments,
    published: Fragments,
    /// The fields that the expression reads, without the column itself.
    inputs: Vec<i32>,
    target: Vec<i32>,
}

impl Before {
    /// `None`: no fragment has its values. A version does not exist any more, or the column was declared in another way.
    pub async fn of(table: &Table, since: Since, binding: &Binding) -> Result<Option<Self>> {
        let Some(computed) = table.existing_version(since.computed).await? else {
            return Ok(None);
        };
        let Some(published) = table.existing_version(since.published).await? else {
            return Ok(None);
        };
        let backfill = Backfill {
            column: binding.name().to_string(),
            ..Backfill::default()
        };
        let is_same = match Binding::planned(&computed, &backfill).await {
            Ok(former) => former.is_same(binding),
            Err(_) => false,
        };
        Ok(is_same.then(|| Self {
            computed: Fragments::of(&computed),
            published: Fragments::of(&published),
            inputs: binding.input_ids(),
            target: binding.target.field_ids(),
        }))
    }

    /// Whether the backfill published its values beside the inputs that it had read. Lance commits both an update of other
    /// columns and the values of a backfill, and then the versions of the rows do not tell which came first.
    pub fn had_same_inputs(&self) -> bool {
        let mut published = self.published.all.iter();
        published.all(|fragment| {
            !self.computed.places.contains_key(&fragment.id)
                || self.computed.have(fragment, &self.inputs)
        })
    }

    /// Whether a fragment has the inputs from which the backfill computed its values, and still has those values.
    pub fn has(&self, fragment: &Fragment) -> bool {
        self.computed.have(fragment, &self.inputs) && self.published.have(fragment, &self.target)
    }
}

/// The fragments of a version.
struct Fragments {
    all: Arc<Vec<Fragment>>,
    /// By id.
    places: HashMap<u64, usize>,
}

impl Fragments {
    fn of(version: &Dataset) -> Self {
        let all = version.fragments().clone();
        let places = all.iter().enumerate();
        let places = places.map(|(place, one)| (one.id, place)).collect();
        Self { all, places }
    }

    /// Whether one of them has the same files of these fields.
    fn have(&self, fragment: &Fragment, fields: &[i32]) -> bool {
        let former = self.places.get(&fragment.id).map(|&place| &self.all[place]);
        former.is_some_and(|former| Basis::of(former, fields) == Basis::of(fragment, fields))
    }
}

/// Whether a backfill of the column would compute values since an earlier one.
pub async fn has_changed(
    table: &Table,
    newest: &Arc<Dataset>,
    since: Since,
    column: &str,
) -> Result<bool> {
    let backfill = Backfill {
        column: column.to_string(),
        ..Backfill::default()
    };
    let binding = Binding::planned(newest, &backfill).await?;
    let before = Before::of(table, since, &binding).await?;
    Ok(before.is_none_or(|before| newest.fragments().iter().any(|one| !before.has(one))))
}
