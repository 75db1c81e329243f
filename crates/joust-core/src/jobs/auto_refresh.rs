//! Columns and views that refresh themselves: their declarations, and whether they are out of date.
//!
//! The server decides when it looks at them, and queues the jobs.

use super::backfill::{self, Since};
use crate::error::Result;
use crate::schema::{AutoRefresh, ViewDefinition, backfills_itself};
use crate::table::{AUTO_REFRESH_ENABLED, AUTO_REFRESH_SECONDS, ReadOptions, Table};

/// A declaration.
#[derive(Debug, Clone, PartialEq)]
pub struct Declaration {
    /// The computed column; `None`: the table is a view.
    pub column: Option<String>,
    pub refresh: AutoRefresh,
}

/// Other tools write declarations, too.
fn is_valid(seconds: &f64) -> bool {
    seconds.is_finite() && *seconds > 0.0
}

/// The answer of [`Table::changes_since`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Changes {
    pub has_changed: bool,
    /// The newest version, for which it is true.
    pub version: u64,
}

impl Table {
    /// What refreshes itself in the newest version: computed columns, or the view that the table is. What a function
    /// computes is only there if functions run.
    pub async fn auto_refreshes(&self) -> Result<Vec<Declaration>> {
        let dataset = self.dataset(ReadOptions::default()).await?;
        let has_functions = self.tables().has_functions();
        let view = ViewDefinition::of(&dataset).ok();
        let view = view
            .filter(|view| has_functions || view.function.is_none())
            .and_then(|view| view.auto_refresh)
            .map(|refresh| AutoRefresh {
                interval_seconds: refresh.interval_seconds.filter(is_valid),
            });
        let fields = dataset.schema().fields.iter();
        let virtual_columns = fields
            .clone()
            .filter(|field| has_functions && backfills_itself(field))
            .map(|field| Declaration {
                column: Some(field.name.clone()),
                refresh: AutoRefresh {
                    interval_seconds: None,
                },
            });
        let columns = fields
            .filter(|field| backfill::is_computed_with_sql(field))
            .filter_map(|field| {
                let metadata = &field.metadata;
                let is_on = metadata.get(AUTO_REFRESH_ENABLED)? == "true";
                let interval = metadata.get(AUTO_REFRESH_SECONDS);
                let interval = interval.and_then(|text| text.parse().ok()).filter(is_valid);
                is_on.then(|| Declaration {
                    column: Some(field.name.clone()),
                    refresh: AutoRefresh {
                        interval_seconds: interval,
                    },
                })
            });
        let view = view.map(|refresh| Declaration {
            column: None,
            refresh,
        });
        Ok(view
            .into_iter()
            .chain(columns)
            .chain(virtual_columns)
            .collect())
    }

    /// Whether a refresh would compute something: the rows or the schema of the table have changed since `since`, or with
    /// a computed column, its inputs, its values or its declaration. Also true if those versions do not exist any more. A
    /// compaction counts as a change, a new index does not.
    pub async fn changes_since(&self, since: Since, column: Option<&str>) -> Result<Changes> {
        let newest = self.newest().await?;
        let version = newest.version_id();
        let has_changed = if version == since.computed && version == since.published {
            false
        } else if let Some(column) = column {
            backfill::has_changed(self, &newest, since, column).await?
        } else {
            let before = self.existing_version(since.computed).await?;
            before.is_none_or(|before| {
                before.fragments() != newest.fragments()
                    || before.schema().fields != newest.schema().fields
            })
        };
        Ok(Changes {
            has_changed,
            version,
        })
    }
}
