//! Resolves a query for some columns.

use std::sync::Arc;

use tantivy::Term;

use super::planner::Planner;
use super::tree::{End, by_column};
use super::{Hit, Interrupt, Leaf, Observe, Tree, bm25f, collect, combine};
use crate::error::Result;
use crate::query::{Limits, Query};
use crate::view::{Restriction, View};

/// A query that is resolved for the views of its columns.
pub struct Plan {
    pub(super) columns: Vec<(String, Arc<View>)>,
    pub(super) tree: Tree<(usize, Tree<Leaf>)>,
}

impl Plan {
    /// `query` names only columns of `columns`.
    pub fn new(
        query: &Query,
        columns: Vec<(String, Arc<View>)>,
        limits: Limits,
        interrupt: Interrupt<'_>,
    ) -> Result<Self> {
        let mut planner = Planner {
            columns: &columns,
            terms_left: limits.terms,
            limits,
            interrupt,
        };
        let tree = by_column(planner.tree(query)?);
        Ok(Self { columns, tree })
    }

    /// The top `reach` rows, best first. `restrictions` belong to the columns, in their order.
    pub fn search(
        &self,
        reach: usize,
        restrictions: Option<&[Restriction]>,
        interrupt: Interrupt<'_>,
    ) -> Result<Vec<Hit>> {
        self.search_observed(reach, restrictions, interrupt, &|_| {})
    }

    /// As [`search`](Self::search), and reports each step to `observe`.
    pub fn search_observed(
        &self,
        reach: usize,
        restrictions: Option<&[Restriction]>,
        interrupt: Interrupt<'_>,
        observe: Observe<'_>,
    ) -> Result<Vec<Hit>> {
        let searched = |column: usize| Searched {
            column,
            view: self.columns[column].1.as_ref(),
            restriction: restrictions.and_then(|all| all.get(column)),
        };
        let top = |(column, tree): &(usize, Tree<Leaf>)| {
            collect::top(searched(*column), tree, reach, interrupt, observe)
        };
        let mut hits = match &self.tree {
            Tree::Nothing => Vec::new(),
            Tree::Leaf(leaf) => top(leaf)?,
            // A row of the overall top rows is among the top rows of the column that gives its score.
            Tree::DisjunctionMax(queries)
                if let Some(leaves) = queries.iter().map(leaf).collect::<Option<Vec<_>>>() =>
            {
                let each = leaves.into_iter().map(top).collect::<Result<Vec<_>>>()?;
                combine::best_of(each)
            }
            tree => combine::rows(tree, &mut |end| match end {
                End::Leaf((column, tree)) => {
                    collect::all(searched(*column), tree, interrupt, observe)
                }
                End::Bm25f(asked) => {
                    let columns = asked.columns.iter();
                    let columns = columns.map(|(column, weight)| (searched(*column), *weight));
                    bm25f::rows(&columns.collect::<Vec<_>>(), asked, interrupt, observe)
                }
            })?,
        };
        // Sorts only the rows that are returned.
        if reach < hits.len() && reach > 0 {
            hits.select_nth_unstable_by(reach - 1, Hit::rank);
        }
        hits.truncate(reach);
        hits.sort_unstable_by(Hit::rank);
        Ok(hits)
    }

    /// The columns that are searched.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &View)> {
        self.columns
            .iter()
            .map(|(name, view)| (name.as_str(), view.as_ref()))
    }

    /// The views of the columns that are searched.
    pub fn views(&self) -> impl Iterator<Item = &Arc<View>> {
        self.columns.iter().map(|(_, view)| view)
    }

    /// Passes everything that can match in a column to `sink`.
    pub fn sought<'a>(&'a self, column: &str, sink: &mut dyn FnMut(Sought<'a>)) {
        let is_it = |index: &usize| self.columns[*index].0 == column;
        self.tree.found(&mut |end| match end {
            End::Leaf((index, tree)) if is_it(index) => tree.found(&mut |end| match end {
                End::Leaf(Leaf::Term { text, .. }) => sink(Sought::Term(text)),
                End::Leaf(Leaf::Phrase { terms, slop, .. }) => sink(Sought::Phrase(terms, *slop)),
                End::Bm25f(_) => {}
            }),
            End::Bm25f(asked) if asked.columns.iter().any(|(index, _)| is_it(index)) => {
                asked.terms.iter().for_each(|term| sink(Sought::Term(term)));
            }
            _ => {}
        });
    }

    /// The most index entries and documents that a search may read.
    pub fn work(&self) -> Result<u64> {
        let mut work = 0;
        // It looks at the length of each document.
        self.tree.found(&mut |end| {
            if let End::Bm25f(asked) = end {
                let columns = asked.columns.iter();
                let documents = columns.map(|(column, _)| self.columns[*column].1.documents());
                work += documents.sum::<u64>();
            }
        });
        for (name, view) in &self.columns {
            let Some(field) = view.text() else { continue };
            let mut terms = Vec::new();
            self.sought(name, &mut |sought| match sought {
                Sought::Term(term) => terms.push(term),
                Sought::Phrase(all, _) => terms.extend(all.iter().map(|(_, term)| term.as_str())),
            });
            for term in terms {
                work += view.entries(&Term::from_field_text(field, term))?;
            }
        }
        Ok(work)
    }
}

/// What can match a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sought<'a> {
    Term(&'a str),
    /// Terms at their positions, and the slop.
    Phrase(&'a [(usize, String)], u32),
}

/// A column of a search.
#[derive(Clone, Copy)]
pub struct Searched<'a> {
    pub column: usize,
    pub view: &'a View,
    pub restriction: Option<&'a Restriction>,
}

fn leaf<L>(tree: &Tree<L>) -> Option<&L> {
    match tree {
        Tree::Leaf(leaf) => Some(leaf),
        _ => None,
    }
}
