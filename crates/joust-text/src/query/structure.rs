//! Reads a structured query: an object with one key, `match`, `phrase`, `boost`, `multi_match`,
//! `combined_fields` or `boolean`.

use super::form::{Column, ManyColumns, MultiMatch, Structure, Weight};
use super::limits::Budget;
use super::{CombinedFields, Fuzziness, Match, Phrase, Query, form};
use crate::error::Result;
use crate::object::Object;

/// The best of several; one alone is itself.
pub fn best(mut queries: Vec<Query>) -> Query {
    match queries.len() {
        1 => queries.remove(0),
        _ => Query::Best(queries),
    }
}

pub fn structure(query: Structure, depth: usize, budget: &mut Budget) -> Result<Query> {
    budget.clause(depth)?;
    Ok(match query {
        Structure::Match(Object(one)) => Query::Match(matching(one, budget)?),
        Structure::Phrase(Object(phrase)) => {
            budget.text(&phrase.terms)?;
            Query::Phrase(Phrase {
                column: phrase.column.map(|Column(name)| name),
                terms: phrase.terms,
                slop: phrase.slop.map_or(0, |slop| slop.0),
                granularity: phrase.document_granularity,
            })
        }
        Structure::Boost(Object(boost)) => Query::Boost {
            positive: Box::new(structure(*boost.positive, depth + 1, budget)?),
            negative: Box::new(structure(*boost.negative, depth + 1, budget)?),
            negative_boost: boost.negative_boost.map_or(0.5, |Weight(boost)| boost),
        },
        Structure::MultiMatch(MultiMatch::Each(queries)) => {
            let each = queries.into_iter().map(|Object(one)| {
                budget.clause(depth + 1)?;
                Ok(Query::Match(matching(one, budget)?))
            });
            best(each.collect::<Result<_>>()?)
        }
        Structure::MultiMatch(MultiMatch::Words(words)) => in_each(words, depth, budget)?,
        Structure::CombinedFields(form::CombinedFields(words)) => {
            for _ in &words.columns {
                budget.clause(1)?;
            }
            budget.text(&words.terms)?;
            Query::CombinedFields(CombinedFields {
                terms: words.terms,
                columns: words.columns,
                boost: words.boost,
                operator: words.operator,
            })
        }
        Structure::Boolean(boolean) => {
            let mut all = |queries: Vec<Structure>| -> Result<Vec<Query>> {
                let queries = queries.into_iter();
                queries
                    .map(|query| structure(query, depth + 1, budget))
                    .collect()
            };
            Query::Boolean {
                must: all(boolean.must)?,
                should: all(boolean.should)?,
                must_not: all(boolean.must_not)?,
            }
        }
    })
}

fn matching(one: form::Match, budget: &mut Budget) -> Result<Match> {
    budget.text(&one.terms)?;
    let default = Match::new(one.terms);
    Ok(Match {
        column: one.column.map(|Column(name)| name),
        boost: one.boost.map_or(default.boost, |Weight(boost)| boost),
        fuzziness: one.fuzziness.unwrap_or(Fuzziness::Auto),
        max_expansions: one
            .max_expansions
            .map_or(default.max_expansions, |most| most.0 as usize),
        operator: one.operator.unwrap_or_default(),
        prefix_length: one.prefix_length.map_or(0, |length| length.0 as usize),
        granularity: one.document_granularity,
        terms: default.terms,
    })
}

/// The words in each of the columns.
fn in_each(words: ManyColumns, depth: usize, budget: &mut Budget) -> Result<Query> {
    budget.text(&words.terms)?;
    let mut queries = Vec::with_capacity(words.columns.len());
    for (index, column) in words.columns.into_iter().enumerate() {
        budget.clause(depth + 1)?;
        queries.push(Query::Match(Match {
            column: Some(column),
            boost: words.boost.as_ref().map_or(1.0, |boosts| boosts[index]),
            operator: words.operator,
            ..Match::new(words.terms.as_str())
        }));
    }
    Ok(best(queries))
}
