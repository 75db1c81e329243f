//! How far a view is behind its sources, and how the next refresh works.

use std::time::Duration;

use arrow::datatypes::Schema;

use super::compute::scope;
use super::planned_query::{PlannedQuery, planned_query};
use super::scope::Scope;
use super::state::State;
use super::{RefreshMode, Source, ViewDefinition};
use crate::error::Result;
use crate::sql::session;
use crate::table::{ReadOptions, Table};

/// The status of a view.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewStatus {
    /// How the next refresh works.
    pub next_refresh: RefreshMode,
    /// When the last refresh was committed, ms since 1970; `None`: it is not known.
    pub refreshed_at: Option<u64>,
    /// In the order of the view's tables.
    pub sources: Vec<SourceStatus>,
}

/// A source of a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceStatus {
    /// The version of the last refresh; `None`: it is not known.
    pub refreshed_version: Option<u64>,
    pub newest_version: u64,
}

impl Table {
    /// The status of the view at this address, whose tables are `sources`. Code 19 if it is not a view. Planning the
    /// query ends with the time that the request has left.
    pub async fn view_status(
        &self,
        sources: &[Source],
        timeout: Option<Duration>,
    ) -> Result<ViewStatus> {
        let mut deadline = self.tables().query_deadline(timeout);
        deadline.spend(self.status(sources)).await
    }

    async fn status(&self, sources: &[Source]) -> Result<ViewStatus> {
        let view = self.dataset(ReadOptions::default()).await?;
        let definition = ViewDefinition::of(&view)?;
        let mut opened = Vec::with_capacity(sources.len());
        for source in sources {
            opened.push((source.name.clone(), source.open(self.tables()).await?));
        }
        let state = State::of(&view);
        let context = session::for_planning()?;
        let fields = Schema::from(view.schema());
        let query = (definition.sql.as_str(), definition.function.as_ref());
        // A query that fails has no plan. The reason says why, and so does the next refresh.
        let planned = planned_query(&context, query, &opened, &fields).await;
        let next_refresh = match planned {
            Ok(PlannedQuery { shape, read, .. }) => {
                let query = (&shape, &read);
                match scope(self, query, state.as_ref(), sources, &opened).await? {
                    Scope::All(reason) => RefreshMode::Full(reason),
                    Scope::Nothing | Scope::Changed(_) => RefreshMode::Incremental,
                }
            }
            Err(error) => RefreshMode::Full(error.message().to_string().into()),
        };
        let read = |at: usize| Some(state.as_ref()?.sources.get(at)?.version);
        let sources = opened.iter().enumerate();
        Ok(ViewStatus {
            next_refresh,
            refreshed_at: state.as_ref().map(|state| state.refreshed_at),
            sources: sources
                .map(|(at, (_, source))| SourceStatus {
                    refreshed_version: read(at),
                    newest_version: source.version_id(),
                })
                .collect(),
        })
    }
}
