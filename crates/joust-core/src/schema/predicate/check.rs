//! Checks predicates of requests before Lance plans them.

use std::future::Future;
use std::sync::Arc;

use lance::Dataset;

use super::comparisons;
use crate::error::{Error, Result};
use crate::planning::planned;
use crate::schema::expression::{self, Expression};

/// Bytes of a predicate that may be planned on the calling thread.
const SHORT: usize = 4 << 10;

/// The expression of a predicate; none when it consists of plain comparisons, which compute booleans only.
pub fn computed_expressions(sql: &str) -> Result<Vec<Expression>> {
    match sql.trim().is_empty() || comparisons(sql).is_some() {
        true => Ok(Vec::new()),
        false => Ok(vec![Expression::new(sql)?]),
    }
}

/// Runs work that plans a predicate. A short one of plain comparisons is planned at once, because a change of
/// threads would take longer. All others go to a planning thread.
pub async fn planned_where_long<T: Send + 'static>(
    sql: &str,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    match sql.len() <= SHORT && comparisons(sql).is_some() {
        true => work.await,
        false => planned(work).await,
    }
}

/// As [`checked`], on a planning thread where it may take long.
pub async fn checked_where_planned(dataset: &Arc<Dataset>, sql: &str) -> Result<String> {
    let (dataset, own) = (dataset.clone(), sql.to_string());
    planned_where_long(sql, async move { checked(&dataset, &own) }).await
}

/// A predicate in the form for Lance, checked against the table's columns: a later failure is not caused by the
/// predicate.
pub fn checked(dataset: &Dataset, sql: &str) -> Result<String> {
    if sql.trim().is_empty() {
        return Err(Error::invalid(
            "the predicate is empty; give a SQL condition, or `true` for all rows",
        ));
    }
    let condition = expression::whole(sql)?;
    let mut scanner = dataset.scan();
    let checked = scanner
        .filter(&condition)
        .and_then(|scanner| scanner.get_expr_filter().map(drop));
    match checked {
        Ok(()) => Ok(condition),
        Err(error) => Err(Error::of_input(error)),
    }
}
