//! The view of a column for a search at a version.

use std::sync::Arc;

use joust_text::segment::Segment;
use joust_text::view::{Part, View};
use lance::Dataset;
use roaring::RoaringBitmap;

use super::column::TextColumn;
use super::entry::Entry;
use super::files::{blocking, open};
use super::text_caches::{ColumnState, TextCaches, held};
use super::{tail, visible};
use crate::error::Result;
use crate::version_key::VersionKey;

/// The segments of one index, and their column.
pub struct Indexed {
    /// The column's name.
    pub name_of_column: String,
    pub column: TextColumn,
    pub field: i32,
    pub name: String,
    pub entries: Vec<Entry>,
}

impl Indexed {
    /// Fragments that any segment covers.
    pub fn covered(&self) -> RoaringBitmap {
        let mut covered = RoaringBitmap::new();
        for entry in &self.entries {
            covered |= &entry.fragments;
        }
        covered
    }

    /// Segments with documents: the first parts of a view, before those of the tail.
    pub fn filled(&self) -> usize {
        let entries = self.entries.iter();
        entries.filter(|entry| entry.details.documents > 0).count()
    }

    pub fn state(&self, dataset: &Dataset, with_tail: bool) -> ColumnState {
        ColumnState {
            state: VersionKey::of(dataset),
            field: self.field,
            index: self.name.clone(),
            with_tail,
        }
    }

    /// The view of a version.
    pub async fn view(
        &self,
        dataset: &Arc<Dataset>,
        with_tail: bool,
        caches: &TextCaches,
    ) -> Result<Arc<View>> {
        let make = async || {
            let view = self.make(dataset, with_tail, caches).await?;
            // The parts are weighed in their cache; this is the weight of a view that outlives them. Every write
            // rebuilds the last parts of the tail.
            let segments = view.parts().iter().map(|part| held(part.segment()));
            let tail = view.parts().len().saturating_sub(self.filled());
            let weight = segments.sum::<usize>() + tail * tail::OPEN;
            Ok((Arc::new(view), weight))
        };
        caches
            .views
            .get(&self.state(dataset, with_tail), make)
            .await
    }

    async fn make(
        &self,
        dataset: &Arc<Dataset>,
        with_tail: bool,
        caches: &TextCaches,
    ) -> Result<View> {
        // All entries of an index have the same analysis: they are replaced together.
        let analysis = Arc::new(self.entries[0].details.analysis.clone());
        let mut parts = Vec::new();
        for entry in &self.entries {
            if let Some(segment) = open(dataset, entry, caches).await? {
                parts.push(part(dataset, entry, segment, caches).await?);
            }
        }
        if with_tail {
            let covered = self.covered();
            let tail = tail::parts(
                dataset,
                self.field,
                &self.column,
                &analysis,
                &covered,
                caches,
            )
            .await?;
            parts.extend(tail);
        }
        Ok(View::new(analysis, parts)?)
    }
}

/// The rows of a segment that exist at a version and are still in its covered fragments: an updated row moves to
/// another fragment and keeps its id.
async fn part(
    dataset: &Arc<Dataset>,
    entry: &Entry,
    segment: Arc<Segment>,
    caches: &TextCaches,
) -> Result<Arc<Part>> {
    let key = (entry.uuid, visible::state(dataset, &entry.fragments));
    let make = async || {
        let rows = visible::rows(dataset, entry.fragments.clone()).await?;
        blocking(move || {
            let weight = held(&segment);
            Ok((Arc::new(Part::new(segment, rows)?), weight))
        })
        .await
    };
    caches.parts.get(&key, make).await
}
