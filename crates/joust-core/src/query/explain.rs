//! The plan of a query, before and after execution.

use super::QueryOptions;
use super::request::{Explain, Query};
use crate::error::Result;
use crate::table::Table;

impl Table {
    /// The plan that [`Table::query`] would run; verbose also shows the columns of each step. `body`: `{query,
    /// verbose}`.
    pub async fn explain_plan(&self, body: &[u8], options: QueryOptions) -> Result<String> {
        let mut deadline = self.tables().query_deadline(options.timeout);
        deadline.spend(self.explained(body, options)).await
    }

    async fn explained(&self, body: &[u8], options: QueryOptions) -> Result<String> {
        let explain = Explain::decode(body, &options.id)?;
        let verbose = explain.verbose == Some(true);
        // The plan may load vectors and index the rows that no text segment covers.
        let (plan, _memory) = self.planned(explain.query.0, &options).await?;
        if self.rows().is_some() {
            return Ok(plan.visible_steps(self.caches()?).await?.explain());
        }
        let steps = plan.explain(verbose, self.caches()?).await?;
        Ok(self.without_location(&steps))
    }

    /// Runs a query and reports what each step of its plan did. `body`: a query.
    pub async fn analyze_plan(&self, body: &[u8], options: QueryOptions) -> Result<String> {
        let mut deadline = self.tables().query_deadline(options.timeout);
        deadline.spend(self.analyzed(body, options)).await
    }

    async fn analyzed(&self, body: &[u8], options: QueryOptions) -> Result<String> {
        let (plan, _memory) = self.planned(Query::decode(body)?, &options).await?;
        if self.rows().is_some() {
            return plan.analyze_visible(self.caches()?).await;
        }
        let steps = plan.analyze(self.caches()?).await?;
        Ok(self.without_location(&steps))
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
