//! The plan of a query, before and after it ran.

use datafusion::physical_plan::displayable;
use lance_datafusion::exec::{LanceExecutionOptions, analyze_plan};

use super::request::{Explain, Query};
use super::{Planned, QueryOptions, plan};
use crate::error::{Error, Result};
use crate::nearest::gone;
use crate::table::Table;

impl Table {
    /// The plan that [`Table::query`] would run; verbose shows the columns of each step too. `body`:
    /// `{query, verbose}`.
    pub async fn explain_plan(&self, body: &[u8], options: QueryOptions) -> Result<String> {
        let explain = Explain::decode(body, &options.id)?;
        let dataset = self.queried(&explain.query, &options).await?;
        let verbose = explain.verbose == Some(true);
        let caches = self.handle().caches();
        let own = match self.plan(&dataset, &explain.query).await? {
            Planned::Text(search) => Some(search.steps(verbose, caches).await?),
            Planned::Nearest(search) => search.steps(verbose, caches).await?,
            Planned::Reads(reads) => Some(reads.steps(verbose, None)),
            Planned::Scan => None,
        };
        if let Some(own) = own {
            return Ok(self.without_location(&own.explain()));
        }
        let scanner = plan::scanner(&self.scanned(&dataset), &explain.query).await?;
        let plan = gone::plan(&scanner, &dataset).await;
        let plan = plan.map_err(Error::of_input)?;
        let text = displayable(plan.as_ref())
            .set_show_schema(verbose)
            .indent(verbose)
            .to_string();
        Ok(self.without_location(&text))
    }

    /// Runs a query and tells what each step of its plan did. `body`: a query.
    pub async fn analyze_plan(&self, body: &[u8], options: QueryOptions) -> Result<String> {
        let query = Query::decode(body)?;
        let dataset = self.queried(&query, &options).await?;
        let _memory = self
            .memory_for_query(&dataset, query.order_by.is_some())
            .await?;
        let caches = self.handle().caches();
        let own = match self.plan(&dataset, &query).await? {
            Planned::Text(search) => Some(search.analyze(caches).await?),
            Planned::Nearest(search) => search.analyze(caches).await?,
            Planned::Reads(reads) => Some(reads.analyze(caches).await?),
            Planned::Scan => None,
        };
        if let Some(own) = own {
            return Ok(self.without_location(&own.analyze()));
        }
        let scanner = plan::scanner(&self.scanned(&dataset), &query).await?;
        let plan = gone::plan(&scanner, &dataset).await;
        let plan = plan.map_err(Error::of_input)?;
        let told = analyze_plan(plan, LanceExecutionOptions::default()).await;
        Ok(self.without_location(&told.map_err(Error::of_input)?))
    }

    /// Where the table lies is the server's business.
    fn without_location(&self, plan: &str) -> String {
        let location = self.handle().location();
        let path = location
            .split_once("://")
            .map_or(location, |(_, path)| path);
        plan.replace(location, "table")
            .replace(path.trim_matches('/'), "table")
    }
}
