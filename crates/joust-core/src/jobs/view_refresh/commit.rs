//! The commit of a refresh: it removes rows of the view and adds the computed ones, in one version.
//!
//! Unlike an overwrite, this keeps the view's indexes.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, UInt64Type};
use futures::TryStreamExt;
use lance::Dataset;
use lance::dataset::CommitBuilder;
use lance::dataset::rowids::load_row_id_sequence;
use lance::dataset::scanner::{RowAddrMask, RowAddrTreeMap};
use lance::dataset::transaction::{Operation, Transaction, TransactionBuilder};
use lance_core::ROW_ADDR;
use lance_core::utils::address::RowAddress;
use lance_table::format::Fragment;
use roaring::{RoaringBitmap, RoaringTreemap};

use super::compute::Replaced;
use super::expansion::SOURCE_ROW_ID;
use super::groups::GroupKeys;
use super::state::State;
use super::write::Written;
use crate::commit::{Attempts, Policy, always_lost};
use crate::error::{Code, Error, Result};
use crate::table::Table;

/// A refresh that is computed.
pub struct Computed<'a> {
    pub written: &'a Written,
    pub replaced: &'a Replaced,
    /// Whether the rows are right only for the state `before`.
    pub depends_on_state: bool,
    /// Whether the view has a column with the ids of the source's rows, and all rows that come from the source.
    pub has_source_ids: bool,
    /// The versions that were read.
    pub sources: &'a [Arc<Dataset>],
    /// The state of the view for which the rows were computed.
    pub before: Option<&'a State>,
}

/// The committed version, and the number of rows that are no longer in the view.
pub struct Committed {
    pub version: u64,
    pub rows_removed: u64,
}

impl Table {
    /// Commits a refresh.
    pub(super) async fn commit_refresh(&self, computed: &Computed<'_>) -> Result<Committed> {
        let mut attempts = Attempts::at(Policy::Rewrite);
        loop {
            let newest = self.newest().await?;
            if computed.depends_on_state && State::of(&newest).as_ref() != computed.before {
                return Err(other_refresh());
            }
            let removal = match computed.replaced {
                Replaced::All => Removal::of_all(&newest).await?,
                Replaced::Rows { ids, base } => Removal::of_rows(&newest, ids, *base).await?,
                Replaced::Expanded { ids } => Removal::of_expanded(&newest, ids).await?,
                Replaced::Groups(keys) => Removal::of_groups(&newest, keys).await?,
            };
            let base = match computed.replaced {
                Replaced::Rows { base, .. } => *base,
                Replaced::All | Replaced::Expanded { .. } | Replaced::Groups(_) => {
                    newest.manifest().next_row_id
                }
            };
            let has_ids = computed.written.has_row_ids();
            let sources = computed.sources.iter().map(AsRef::as_ref);
            let state = State::after(
                sources,
                match computed.has_source_ids {
                    true => Some(0),
                    false => has_ids.then_some(base),
                },
            );
            let next_row_id = match (has_ids, computed.sources.first()) {
                (true, Some(source)) => base + source.manifest().next_row_id,
                _ => 0,
            };
            let context = self
                .commit_context(Policy::Rewrite, || 0)
                .view_state(state.in_commit(&newest, next_row_id)?);
            let operation = Operation::Update {
                removed_fragment_ids: removal.fragments,
                updated_fragments: removal.updated,
                new_fragments: computed.written.fragments(base)?,
                fields_modified: Vec::new(),
                compacted_sstables: Vec::new(),
                fields_for_preserving_frag_bitmap: Vec::new(),
                update_mode: None,
                inserted_rows_filter: None,
                updated_fragment_offsets: None,
            };
            let transaction: Transaction =
                TransactionBuilder::new(newest.version_id(), operation).build();
            let commit = CommitBuilder::new(newest)
                .with_skip_auto_cleanup(true)
                .execute(transaction);
            match self.commit_in(context, commit).await {
                Ok(dataset) => {
                    return Ok(Committed {
                        version: self.committed(dataset),
                        rows_removed: removal.rows,
                    });
                }
                Err(error) => attempts
                    .lost(error.into())
                    .await
                    .map_err(always_lost("view"))?,
            }
        }
    }
}

fn other_refresh() -> Error {
    Error::new(
        Code::ConcurrentModification,
        "another refresh changed the view at the same time: refresh it again",
    )
}

/// Rows by their fragments, and their offsets there.
type Offsets = BTreeMap<u32, RoaringBitmap>;

/// The removal of rows from a version.
struct Removal {
    /// Fragments without any other row.
    fragments: Vec<u64>,
    /// Fragments with other rows, and a new deletion file.
    updated: Vec<Fragment>,
    rows: u64,
}

impl Removal {
    async fn of_all(view: &Dataset) -> Result<Self> {
        Ok(Self {
            fragments: view
                .fragments()
                .iter()
                .map(|fragment| fragment.id)
                .collect(),
            updated: Vec::new(),
            rows: view.count_rows(None).await? as u64,
        })
    }

    /// `ids`: of rows of the source; `base` more is the id in the view.
    ///
    /// Lance's index of row ids would take longer to build than this takes, and each refresh needs another one.
    async fn of_rows(view: &Dataset, ids: &RoaringTreemap, base: u64) -> Result<Self> {
        let (Some(first), Some(last)) = (ids.min(), ids.max()) else {
            return Self::of_offsets(view, Offsets::new()).await;
        };
        let ids: RowAddrTreeMap = ids.iter().map(|id| base + id).collect();
        let ids = RowAddrMask::from_allowed(ids);
        let mut found = Offsets::new();
        for fragment in view.get_fragments() {
            let own = load_row_id_sequence(view, fragment.metadata()).await?;
            let Some(range) = own.row_id_range() else {
                continue;
            };
            if *range.end() < base + first || *range.start() > base + last {
                continue;
            }
            let mut replaced = RoaringBitmap::new();
            for rows in own.mask_to_offset_ranges(&ids) {
                replaced.insert_range(rows.start as u32..rows.end as u32);
            }
            if replaced.is_empty() {
                continue;
            }
            // A row that was updated has its id in the fragment that it has left, too.
            if let Some(deleted) = fragment.get_deletion_vector().await? {
                for offset in deleted.iter() {
                    replaced.remove(offset);
                }
            }
            found.insert(fragment.id() as u32, replaced);
        }
        Self::of_offsets(view, found).await
    }

    /// The rows that have one of the keys.
    async fn of_groups(view: &Dataset, keys: &GroupKeys) -> Result<Self> {
        let names: Vec<&str> = keys.columns().collect();
        Self::of_matching(view, &names, |columns| keys.find(columns)).await
    }

    /// The rows that a function made of rows of the source. `ids`: of these.
    async fn of_expanded(view: &Dataset, ids: &RoaringTreemap) -> Result<Self> {
        Self::of_matching(view, &[SOURCE_ROW_ID], |columns| {
            let [column] = columns else {
                return Ok(Vec::new());
            };
            let column = cast(column, &DataType::UInt64)?;
            let own = column.as_primitive::<UInt64Type>();
            let found = own.iter().map(|id| id.is_some_and(|id| ids.contains(id)));
            Ok(found.collect())
        })
        .await
    }

    /// The rows that `find` finds by these columns of the view.
    async fn of_matching(
        view: &Dataset,
        columns: &[&str],
        find: impl Fn(&[ArrayRef]) -> Result<Vec<bool>>,
    ) -> Result<Self> {
        let mut scanner = view.scan();
        scanner.project(columns)?;
        scanner.with_row_address();
        let mut rows = scanner.try_into_stream().await?;
        let mut found = Offsets::new();
        while let Some(batch) = rows.try_next().await? {
            let own = batch
                .column_by_name(ROW_ADDR)
                .ok_or_else(|| Error::new(Code::Internal, "the scan lacks the row addresses"))?
                .as_primitive::<UInt64Type>();
            let columns: Vec<_> = columns
                .iter()
                .filter_map(|name| batch.column_by_name(name).cloned())
                .collect();
            for (is_found, address) in find(&columns)?.into_iter().zip(own.values()) {
                if is_found {
                    let address = RowAddress::new_from_u64(*address);
                    let offsets = found.entry(address.fragment_id()).or_default();
                    offsets.insert(address.row_offset());
                }
            }
        }
        Self::of_offsets(view, found).await
    }

    async fn of_offsets(view: &Dataset, offsets: Offsets) -> Result<Self> {
        let mut removal = Self {
            fragments: Vec::new(),
            updated: Vec::new(),
            rows: offsets.values().map(RoaringBitmap::len).sum(),
        };
        for (id, offsets) in offsets {
            if offsets.is_empty() {
                continue;
            }
            let Some(fragment) = view.get_fragment(id as usize) else {
                return Err(Error::new(
                    Code::Internal,
                    "a fragment of the view is missing",
                ));
            };
            match fragment.extend_deletions(offsets).await? {
                Some(fragment) => removal.updated.push(fragment.metadata().clone()),
                None => removal.fragments.push(u64::from(id)),
            }
        }
        Ok(removal)
    }
}
