//! Decodes a structured query: an object with one key, `match`, `phrase`, `boost`, `multi_match`, `combined_fields` or
//! `boolean`.

use super::limits::Budget;
use super::wire_format::{Column, ManyColumns, MultiMatch, Structure, Weight};
use super::{CombinedFields, Fuzziness, Match, Phrase, Query, wire_format};
use crate::error::Result;
use crate::object::Object;

/// The disjunction of several queries; a single one is returned unchanged.
pub fn disjunction_max(mut queries: Vec<Query>) -> Query {
    match queries.len() {
        1 => queries.remove(0),
        _ => Query::DisjunctionMax(queries),
    }
}

/// Decodes a structure within the limits of its query.
pub struct Structures<'a> {
    pub budget: &'a mut Budget,
    /// The meaning of a match with `fuzziness` null.
    pub null_fuzziness: Fuzziness,
}

impl Structures<'_> {
    pub fn read(&mut self, query: Structure, depth: usize) -> Result<Query> {
        self.budget.clause(depth)?;
        Ok(match query {
            Structure::Match(Object(one)) => Query::Match(self.matching(one)?),
            Structure::Phrase(Object(phrase)) => {
                self.budget.text(&phrase.terms)?;
                Query::Phrase(Phrase {
                    column: phrase.column.map(|Column(name)| name),
                    terms: phrase.terms,
                    slop: phrase.slop.map_or(0, |slop| slop.0),
                    granularity: phrase.document_granularity,
                })
            }
            Structure::Boost(Object(boost)) => Query::Boost {
                positive: Box::new(self.read(*boost.positive, depth + 1)?),
                negative: Box::new(self.read(*boost.negative, depth + 1)?),
                negative_boost: boost.negative_boost.map_or(0.5, |Weight(boost)| boost),
            },
            Structure::MultiMatch(MultiMatch::Each(queries)) => {
                let each = queries.into_iter().map(|Object(one)| {
                    self.budget.clause(depth + 1)?;
                    Ok(Query::Match(self.matching(one)?))
                });
                disjunction_max(each.collect::<Result<_>>()?)
            }
            Structure::MultiMatch(MultiMatch::Words(words)) => self.in_each(words, depth)?,
            Structure::CombinedFields(wire_format::CombinedFields(words)) => {
                for _ in &words.columns {
                    self.budget.clause(1)?;
                }
                self.budget.text(&words.terms)?;
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
                    queries.map(|query| self.read(query, depth + 1)).collect()
                };
                Query::Boolean {
                    must: all(boolean.must)?,
                    should: all(boolean.should)?,
                    must_not: all(boolean.must_not)?,
                }
            }
        })
    }

    fn matching(&mut self, one: wire_format::Match) -> Result<Match> {
        self.budget.text(&one.terms)?;
        let default = Match::new(one.terms);
        Ok(Match {
            column: one.column.map(|Column(name)| name),
            boost: one.boost.map_or(default.boost, |Weight(boost)| boost),
            fuzziness: match one.fuzziness {
                Some(stated) => stated.unwrap_or(self.null_fuzziness),
                None => default.fuzziness,
            },
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
    fn in_each(&mut self, words: ManyColumns, depth: usize) -> Result<Query> {
        self.budget.text(&words.terms)?;
        let mut queries = Vec::with_capacity(words.columns.len());
        for (index, column) in words.columns.into_iter().enumerate() {
            self.budget.clause(depth + 1)?;
            queries.push(Query::Match(Match {
                column: Some(column),
                boost: words.boost.as_ref().map_or(1.0, |boosts| boosts[index]),
                operator: words.operator,
                ..Match::new(words.terms.as_str())
            }));
        }
        Ok(disjunction_max(queries))
    }
}
