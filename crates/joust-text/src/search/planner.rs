//! Resolves a query: words become terms, fuzzy words become their expansions.

use std::collections::HashMap;
use std::sync::Arc;

use super::bm25f::Bm25f;
use super::{Interrupt, Leaf, Tree, expand};
use crate::error::{Error, Result};
use crate::query::{
    CombinedFields, Fuzziness, Granularity, Limits, Match, Operator, Phrase, Query,
};
use crate::view::View;

/// The number of a column, and the leaf for it.
pub type Ends = Tree<(usize, Leaf)>;

pub struct Planner<'a> {
    pub columns: &'a [(String, Arc<View>)],
    pub terms_left: usize,
    pub limits: Limits,
    pub interrupt: Interrupt<'a>,
}

impl Planner<'_> {
    pub fn tree(&mut self, query: &Query) -> Result<Ends> {
        Ok(match query {
            Query::Match(query) => self.words(query)?,
            Query::Phrase(query) => self.phrase(query)?,
            Query::DisjunctionMax(queries) => Tree::disjunction_max(self.trees(queries)?),
            Query::Boolean {
                must,
                should,
                must_not,
            } => Tree::boolean(
                self.trees(must)?,
                self.trees(should)?,
                self.trees(must_not)?,
            ),
            Query::Boost {
                positive,
                negative,
                negative_boost,
            } => Tree::boosting(self.tree(positive)?, self.tree(negative)?, *negative_boost),
            Query::CombinedFields(query) => self.combined(query)?,
        })
    }

    fn trees(&mut self, queries: &[Query]) -> Result<Vec<Ends>> {
        queries.iter().map(|query| self.tree(query)).collect()
    }

    fn words(&mut self, query: &Match) -> Result<Ends> {
        if (self.interrupt)() {
            return Err(Error::Interrupted);
        }
        if let Fuzziness::Edits(edits) = query.fuzziness
            && edits > self.limits.edits
        {
            return Err(Error::invalid(format!(
                "`fuzziness` {edits} is too much for an FTS index; give at most {}",
                self.limits.edits
            )));
        }
        let column = self.column(query.column.as_deref(), query.granularity)?;
        let view = &self.columns[column].1;
        let words = view.analyzer().terms(&query.terms);
        // Counted before the dictionary lookup: words cost time, too, not only terms.
        self.spend(words.len())?;
        let groups: Vec<Vec<(String, f32)>> = if query.fuzziness == Fuzziness::Exact {
            once(words.into_iter().map(|(_, word)| word))
                .into_iter()
                .map(|(word, times)| vec![(word, times as f32)])
                .collect()
        } else {
            let words = once(words.into_iter().map(|(_, word)| word));
            expand::expand(view, &words, query, self.limits.expansions, self.interrupt)?
        };
        self.spend(groups.iter().map(Vec::len).sum())?;
        let term = |(text, weight): (String, f32)| {
            let weight = weight * query.boost;
            Tree::Leaf((column, Leaf::Term { text, weight }))
        };
        let any = |group: Vec<(String, f32)>| Tree::any(group.into_iter().map(term).collect());
        Ok(match query.operator {
            Operator::Or => {
                // A term that two words produce is searched once.
                let mut terms: HashMap<String, usize> = HashMap::new();
                let mut merged: Vec<(String, f32)> = Vec::new();
                for (text, weight) in groups.into_iter().flatten() {
                    match terms.get(&text) {
                        Some(&index) => merged[index].1 += weight,
                        None => {
                            terms.insert(text.clone(), merged.len());
                            merged.push((text, weight));
                        }
                    }
                }
                any(merged)
            }
            Operator::And => Tree::all(groups.into_iter().map(any).collect()),
        })
    }

    fn combined(&mut self, query: &CombinedFields) -> Result<Ends> {
        let mut columns = Vec::new();
        for (index, name) in query.columns.iter().enumerate() {
            let weight = query.boost.as_ref().map_or(1.0, |boosts| boosts[index]);
            if !(1.0..=1_048_576.0).contains(&weight) {
                return Err(Error::invalid(
                    "`boost` of a combined_fields query must have numbers from 1 to 1048576",
                ));
            }
            columns.push((self.column(Some(name), None)?, weight));
        }
        let Some((first, _)) = columns.first() else {
            return Ok(Tree::Nothing);
        };
        let view = &self.columns[*first].1;
        let alike = |(column, _): &(usize, f32)| {
            self.columns[*column].1.analysis().is_like(view.analysis())
        };
        if !columns.iter().all(alike) {
            return Err(Error::invalid(
                "combined_fields needs columns whose indexes have the same parameters",
            ));
        }
        let words = view.analyzer().terms(&query.terms);
        self.spend(words.len() * columns.len())?;
        let terms: Vec<String> = once(words.into_iter().map(|(_, word)| word))
            .into_iter()
            .map(|(word, _)| word)
            .collect();
        if terms.is_empty() {
            return Ok(Tree::Nothing);
        }
        Ok(Tree::Bm25f(Bm25f {
            columns,
            terms,
            all: query.operator == Operator::And,
        }))
    }

    fn phrase(&mut self, query: &Phrase) -> Result<Ends> {
        if query.slop > self.limits.slop {
            return Err(Error::invalid(format!(
                "`slop` {} is too much for an FTS index; give at most {}",
                query.slop, self.limits.slop
            )));
        }
        let column = self.column(query.column.as_deref(), query.granularity)?;
        let (name, view) = &self.columns[column];
        let terms = view.analyzer().terms(&query.terms);
        self.spend(terms.len())?;
        let first = terms.first().map_or(0, |(position, _)| *position);
        let mut terms: Vec<(usize, String)> = terms
            .into_iter()
            .map(|(position, word)| (position - first, word))
            .collect();
        let leaf = match terms.len() {
            0 => return Ok(Tree::Nothing),
            1 => Leaf::Term {
                text: terms.remove(0).1,
                weight: 1.0,
            },
            _ if !view.analysis().with_position => {
                return Err(Error::invalid(format!(
                    "the index on `{name}` keeps no positions, which a phrase needs; build it with \
                     `with_position`: true"
                )));
            }
            _ => Leaf::Phrase {
                terms,
                slop: query.slop,
                weight: 1.0,
            },
        };
        Ok(Tree::Leaf((column, leaf)))
    }

    fn column(&self, name: Option<&str>, granularity: Option<Granularity>) -> Result<usize> {
        if granularity == Some(Granularity::ListElement) {
            return Err(Error::invalid(
                "`document_granularity` list_element needs a native index (INVERTED) of that \
                 granularity",
            ));
        }
        let name = name.unwrap_or_default();
        self.columns
            .iter()
            .position(|(known, _)| known == name)
            .ok_or_else(|| Error::invalid(format!("there is no text index on `{name}`")))
    }

    fn spend(&mut self, terms: usize) -> Result<()> {
        self.terms_left = self.terms_left.checked_sub(terms).ok_or_else(|| {
            Error::invalid(format!(
                "the text query stands for more than {} terms; ask for fewer words or a smaller \
                 `max_expansions`",
                self.limits.terms
            ))
        })?;
        Ok(())
    }
}

/// Distinct words, in the order of their first use, with their frequency.
fn once(words: impl Iterator<Item = String>) -> Vec<(String, usize)> {
    let mut order: Vec<(String, usize)> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for word in words {
        match known.get(&word) {
            Some(&index) => order[index].1 += 1,
            None => {
                known.insert(word.clone(), order.len());
                order.push((word, 1));
            }
        }
    }
    order
}
