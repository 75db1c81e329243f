//! The caches of queries and index searches: one set for all tables of an engine.

use std::sync::Arc;

use crate::cache::RowCaches;
use crate::error::{Code, Error, Result};
use crate::memory::Budget;
use crate::table::Table;
use crate::text::TextCaches;
use crate::vector::VectorCaches;

/// Cheap to clone; clones share the caches.
#[derive(Clone)]
pub struct Caches {
    rows: Arc<RowCaches>,
    vectors: Arc<VectorCaches>,
    text: Arc<TextCaches>,
}

impl Caches {
    pub fn new(budget: &Budget) -> Self {
        let rows = Arc::new(RowCaches::new(budget.row_cache));
        Self {
            vectors: Arc::new(VectorCaches::new(budget.row_cache, rows.clone())),
            text: Arc::new(TextCaches::new(budget.text_caches, rows.clone())),
            rows,
        }
    }

    /// Rows and columns that queries return.
    pub fn rows(&self) -> &Arc<RowCaches> {
        &self.rows
    }

    /// Opened vector indexes and prefilter masks.
    pub fn vectors(&self) -> &Arc<VectorCaches> {
        &self.vectors
    }

    /// Opened text indexes.
    pub fn text(&self) -> &Arc<TextCaches> {
        &self.text
    }
}

impl Table {
    pub(crate) fn caches(&self) -> Result<&Caches> {
        // `Engine::new` attaches them.
        let caches = self.tables().attachment::<Caches>();
        caches.ok_or_else(|| Error::new(Code::Internal, "the engine has no caches"))
    }
}
