//! The columns of a query.

use super::{Fuzziness, Phrase, Query};
use crate::error::Result;

impl Query {
    /// The named columns, without duplicates, in the order of their first use.
    pub fn columns(&self) -> Vec<&str> {
        let mut found = Vec::new();
        self.visit(&mut |column| {
            if let Some(column) = column
                && !found.contains(&column)
            {
                found.push(column);
            }
        });
        found
    }

    /// Whether a part of the query does not name its column.
    pub fn has_open_column(&self) -> bool {
        let mut open = false;
        self.visit(&mut |column| open |= column.is_none());
        open
    }

    /// Whether a match is fuzzy.
    pub fn is_fuzzy(&self) -> bool {
        match self {
            Self::Match(query) => query.fuzziness != Fuzziness::Exact,
            Self::Phrase(_) | Self::CombinedFields(_) => false,
            Self::DisjunctionMax(queries) => queries.iter().any(Self::is_fuzzy),
            Self::Boost {
                positive, negative, ..
            } => positive.is_fuzzy() || negative.is_fuzzy(),
            Self::Boolean {
                must,
                should,
                must_not,
            } => {
                let mut queries = must.iter().chain(should).chain(must_not);
                queries.any(Self::is_fuzzy)
            }
        }
    }

    fn visit<'a>(&'a self, sink: &mut dyn FnMut(Option<&'a str>)) {
        match self {
            Self::Match(query) => sink(query.column.as_deref()),
            Self::Phrase(query) => sink(query.column.as_deref()),
            Self::CombinedFields(query) => {
                query.columns.iter().for_each(|column| sink(Some(column)));
            }
            Self::DisjunctionMax(queries) => queries.iter().for_each(|query| query.visit(sink)),
            Self::Boost {
                positive, negative, ..
            } => {
                positive.visit(sink);
                negative.visit(sink);
            }
            Self::Boolean {
                must,
                should,
                must_not,
            } => {
                for query in must.iter().chain(should).chain(must_not) {
                    query.visit(sink);
                }
            }
        }
    }

    /// The same query with every column resolved. `named` returns the canonical spelling of a column. A part without a
    /// column searches all of `defaults`, and a row takes the score of its best column.
    pub fn resolve<E>(
        self,
        defaults: &[String],
        named: &mut dyn FnMut(&str) -> Result<String, E>,
    ) -> Result<Self, E> {
        let mut all = |queries: Vec<Self>| -> Result<Vec<Self>, E> {
            queries
                .into_iter()
                .map(|query| query.resolve(defaults, named))
                .collect()
        };
        Ok(match self {
            Self::Match(query) => match &query.column {
                Some(column) => {
                    let column = Some(named(column)?);
                    Self::Match(super::Match { column, ..query })
                }
                None => over(defaults, |column| {
                    Self::Match(super::Match {
                        column: Some(column),
                        ..query.clone()
                    })
                }),
            },
            Self::Phrase(query) => match &query.column {
                Some(column) => {
                    let column = Some(named(column)?);
                    Self::Phrase(Phrase { column, ..query })
                }
                None => over(defaults, |column| {
                    Self::Phrase(Phrase {
                        column: Some(column),
                        ..query.clone()
                    })
                }),
            },
            Self::CombinedFields(mut query) => {
                for column in &mut query.columns {
                    *column = named(column)?;
                }
                Self::CombinedFields(query)
            }
            Self::DisjunctionMax(queries) => Self::DisjunctionMax(all(queries)?),
            Self::Boolean {
                must,
                should,
                must_not,
            } => Self::Boolean {
                must: all(must)?,
                should: all(should)?,
                must_not: all(must_not)?,
            },
            Self::Boost {
                positive,
                negative,
                negative_boost,
            } => Self::Boost {
                positive: Box::new(positive.resolve(defaults, named)?),
                negative: Box::new(negative.resolve(defaults, named)?),
                negative_boost,
            },
        })
    }
}

fn over(columns: &[String], one: impl Fn(String) -> Query) -> Query {
    match columns {
        [column] => one(column.clone()),
        _ => Query::DisjunctionMax(columns.iter().cloned().map(one).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::Match;

    #[test]
    fn an_open_column_becomes_all_of_the_defaults() {
        let query = Query::Boolean {
            must: vec![Query::Match(Match::new("a"))],
            should: vec![Query::Match(Match {
                column: Some("Z".into()),
                ..Match::new("b")
            })],
            must_not: Vec::new(),
        };
        assert!(query.has_open_column());
        let defaults = ["x".to_string(), "y".to_string()];
        let lower = &mut |name: &str| Ok::<_, ()>(name.to_lowercase());
        let resolved = query.resolve(&defaults, lower).unwrap();
        assert!(!resolved.has_open_column());
        assert_eq!(resolved.columns(), ["x", "y", "z"]);
    }
}
