//! Leaves the rows of a row-wise query to workers.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::dataframe::DataFrame;
use futures::TryStreamExt;
use lance::Dataset;
use lance_table::format::Fragment;

use super::super::compute::Inputs;
use super::super::planned_query::has_type;
use super::super::schema::is_extension;
use super::super::write::Written;
use super::{RemoteFragments, worker_query};
use crate::error::Result;
use crate::jobs::file_sizes::bytes_of;
use crate::jobs::unnamed_files::UnnamedFiles;
use crate::query::ChangedRows;
use crate::work::WorkContext;

/// The most rows of a fragment of the source: a worker hands over a bit for each of them in one request.
const MOST_ROWS: usize = 5_000_000;

impl Inputs<'_> {
    /// Leaves the rows that come from these rows of the source, or from all, to workers, if that is worth it and if they can
    /// compute them.
    pub(in super::super) async fn on_workers(
        &self,
        plan: &DataFrame,
        source: &Arc<Dataset>,
        rows: Option<&ChangedRows>,
        work: &WorkContext,
    ) -> Result<Option<Written>> {
        let Some(remote) = &self.refresh.workers else {
            return Ok(None);
        };
        let rows = rows.cloned().unwrap_or_else(|| ChangedRows::all(source));
        let is_worth = bytes_of(&rows.fragments).is_some_and(|bytes| remote.is_worth(bytes));
        let fits = |one: &Fragment| one.physical_rows.is_some_and(|rows| rows <= MOST_ROWS);
        if rows.fragments.is_empty() || !is_worth || !rows.fragments.iter().all(fits) {
            return Ok(None);
        }
        let view = Schema::from(self.view.schema());
        let Some(query) = worker_query(plan, source).await? else {
            return Ok(None);
        };
        let result = plan.schema().as_arrow();
        let mut columns = view.fields().iter();
        if !columns.all(|field| has_type(result, &view, field.name()) && !is_extension(field)) {
            return Ok(None);
        }
        // Workers use none of the memory of this process.
        self.release_memory();
        let fragments = RemoteFragments {
            view: self.view,
            source,
            query: &query,
            function: None,
            max_rows_per_fragment: self.refresh.max_rows_per_fragment,
            concurrency: self.refresh.concurrency,
        };
        let mut unnamed = UnnamedFiles::of(self.view);
        let mut computed = Vec::with_capacity(rows.fragments.len());
        let mut received = std::pin::pin!(fragments.compute(&rows, None, remote, work)?);
        while let Some(one) = received.try_next().await? {
            unnamed.add(&one.fragments);
            computed.push(one);
        }
        // In the order of the source, not in that of the replies.
        computed.sort_by_key(|one| one.source.id);
        let (mut fragments, mut ids) = (Vec::new(), Vec::new());
        for one in computed {
            fragments.extend(one.fragments);
            ids.extend(one.ids);
        }
        Ok(Some(Written::of_workers(fragments, &ids, unnamed)))
    }
}
