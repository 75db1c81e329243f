//! Leaves the calls of the function of a view to workers.

use std::pin::pin;
use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::dataframe::DataFrame;
use futures::TryStreamExt;
use lance::Dataset;
use lance_table::format::Fragment;

use super::super::compute::Inputs;
use super::super::planned_query::has_type;
use super::super::remote::{
    FragmentRows, RemoteFragments, RemoteFunction, WorkerQuery, worker_query,
};
use super::super::schema::is_extension;
use super::schema;
use super::units::{Unit, Units};
use crate::error::{Code, Error, Result};
use crate::functions::BatchBounds;
use crate::jobs::checkpoint::INTERVAL;
use crate::jobs::remote::RemoteWork;
use crate::query::ChangedRows;
use crate::schema::ViewFunction;
use crate::sql::plain_schema;
use crate::work::WorkContext;

/// What workers need for the calls of a function.
pub struct RemoteCalls {
    work: RemoteWork,
    query: WorkerQuery,
    function: RemoteFunction,
}

impl Inputs<'_> {
    /// Code 0 if workers cannot run the query of the view.
    pub(super) async fn remote_calls(
        &self,
        plan: &DataFrame,
        function: &ViewFunction,
        source: &Arc<Dataset>,
    ) -> Result<RemoteCalls> {
        let view = Schema::from(self.view.schema());
        let query = plain_schema(plan.schema().inner());
        let unsupported = |what: String| {
            Error::new(
                Code::Unsupported,
                format!(
                    "{what}, which the workers on Ray cannot compute: an administrator can start the \
                     server with --functions subprocess"
                ),
            )
        };
        let mut inherited = function.inherited.iter();
        if let Some(name) = inherited.find(|name| !has_type(&query, &view, name)) {
            let what = format!("the view gives the column `{name}` of the query another type");
            return Err(unsupported(what));
        }
        if let Some(field) = view.fields().iter().find(|field| is_extension(field)) {
            let what = format!(
                "column `{}` of the view has an extension type",
                field.name()
            );
            return Err(unsupported(what));
        }
        let worker_query = worker_query(plan, source).await?.ok_or_else(|| {
            unsupported(
                "the query of the view has an expression or a column that only the server can read"
                    .into(),
            )
        })?;
        let work = self.refresh.workers.clone();
        let work = work.ok_or_else(|| Error::new(Code::Internal, "the job has no workers"))?;
        // Workers use none of the memory of this process.
        self.release_memory();
        Ok(RemoteCalls {
            work,
            query: worker_query,
            function: RemoteFunction {
                function: function.clone(),
                payload: self.table.function_payload(&function.sha256).await?,
                arguments: schema::arguments(&query, &function.inputs)?,
                batches: BatchBounds::new(None, self.refresh.call_rows)?,
            },
        })
    }

    /// Receives fragments of the source from workers; with a limit one after the other, until the view has as many rows.
    pub(super) async fn receive_units(
        &self,
        units: &mut Units,
        calls: &RemoteCalls,
        source: &Arc<Dataset>,
        (missing, after): (Vec<Fragment>, Option<u64>),
        work: &WorkContext,
    ) -> Result<()> {
        let fragments = RemoteFragments {
            view: self.view,
            source,
            query: &calls.query,
            function: Some(&calls.function),
            max_rows_per_fragment: self.refresh.max_rows_per_fragment,
            concurrency: self.refresh.concurrency,
        };
        let together = match self.refresh.output_limit {
            None => missing.len().max(1),
            Some(_) => 1,
        };
        for missing in missing.chunks(together) {
            let room = self.room(units);
            if room == Some(0) {
                return Ok(());
            }
            let rows = ChangedRows {
                fragments: missing.to_vec(),
                after,
            };
            let mut received = pin!(fragments.compute(&rows, room, &calls.work, work)?);
            loop {
                // The checkpoint has a fragment soon, although the next one may take hours.
                let next = match units.is_saved() {
                    true => received.try_next().await?,
                    false => match tokio::time::timeout(INTERVAL, received.try_next()).await {
                        Ok(next) => next?,
                        Err(_) => {
                            units.save().await;
                            continue;
                        }
                    },
                };
                let Some(rows) = next else { break };
                units.add(rows.into()).await;
            }
        }
        Ok(())
    }
}

impl From<FragmentRows> for Unit {
    fn from(rows: FragmentRows) -> Self {
        Self {
            source: rows.source,
            fragments: rows.fragments,
            rows: rows.rows,
            called: rows.called,
            failed: rows.failed,
            failures: rows.failures,
        }
    }
}
