//! The plan of a query, before and after execution.

use std::sync::Arc;

use datafusion::physical_plan::displayable;
use lance::Dataset;
use lance_datafusion::exec::{LanceExecutionOptions, analyze_plan};

use super::request::{Explain, Query};
use super::{Planned, QueryOptions};
use crate::error::{Error, Result};
use crate::schema::Evaluation;
use crate::table::Table;

impl Table {
    /// The plan that [`Table::query`] would run; verbose also shows the columns of each step. `body`: `{query,
    /// verbose}`.
    pub async fn explain_plan(&self, body: &[u8], options: QueryOptions) -> Result<String> {
        let mut deadline = self.tables().query_deadline();
        deadline.spend(self.explained(body, options)).await
    }

    async fn explained(&self, body: &[u8], options: QueryOptions) -> Result<String> {
        let explain = Explain::decode(body, &options.id)?;
        let query = Arc::new(explain.query.0);
        let dataset = self.queried(&query, &options).await?;
        let evaluation = query.evaluation(&dataset)?;
        let verbose = explain.verbose == Some(true);
        let planned = self.plan(&dataset, &query, evaluation).await?;
        let text = self.plan_text(&planned, &dataset, &query, evaluation, verbose);
        Ok(self.without_location(&text.await?))
    }

    /// The plan of a query with this strategy; it shows the location of the table.
    pub(super) async fn plan_text(
        &self,
        planned: &Planned,
        dataset: &Arc<Dataset>,
        query: &Arc<Query>,
        evaluation: Option<Evaluation>,
        verbose: bool,
    ) -> Result<String> {
        let caches = self.caches()?;
        let own = match planned {
            Planned::Text(search) => Some(search.steps(verbose, caches).await?),
            Planned::Nearest(search) => search.steps(verbose, caches).await?,
            Planned::Reads(reads) => Some(reads.steps(verbose, None)),
            Planned::Scan => None,
        };
        if let Some(own) = own {
            return Ok(own.explain());
        }
        let source = self.scanned(dataset, evaluation);
        let plan = self.plan_of_scan(source, query.clone()).await?;
        let text = displayable(plan.as_ref())
            .set_show_schema(verbose)
            .indent(verbose)
            .to_string();
        Ok(text)
    }

    /// Runs a query and reports what each step of its plan did. `body`: a query.
    pub async fn analyze_plan(&self, body: &[u8], options: QueryOptions) -> Result<String> {
        let mut deadline = self.tables().query_deadline();
        deadline.spend(self.analyzed(body, options)).await
    }

    async fn analyzed(&self, body: &[u8], options: QueryOptions) -> Result<String> {
        let query = Arc::new(Query::decode(body)?);
        let dataset = self.queried(&query, &options).await?;
        let evaluation = query.evaluation(&dataset)?;
        let _memory = self
            .memory_for_query(&dataset, query.order_by.is_some(), evaluation)
            .await?;
        let caches = self.caches()?;
        let own = match self.plan(&dataset, &query, evaluation).await? {
            Planned::Text(search) => Some(search.analyze(caches).await?),
            Planned::Nearest(search) => search.analyze(caches).await?,
            Planned::Reads(reads) => Some(reads.analyze(caches).await?),
            Planned::Scan => None,
        };
        if let Some(own) = own {
            return Ok(self.without_location(&own.analyze()));
        }
        let source = self.scanned(&dataset, evaluation);
        let plan = self.plan_of_scan(source, query).await?;
        let told = analyze_plan(plan, LanceExecutionOptions::default()).await;
        Ok(self.without_location(&told.map_err(Error::of_input)?))
    }

    /// Removes the location of the table, which clients must not see.
    fn without_location(&self, plan: &str) -> String {
        let location = self.handle().location();
        let path = location
            .split_once("://")
            .map_or(location, |(_, path)| path);
        plan.replace(location, "table")
            .replace(path.trim_matches('/'), "table")
    }
}
