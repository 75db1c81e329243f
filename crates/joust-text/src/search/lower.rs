//! Lowers a plan for one column to tantivy queries.

use tantivy::Term;
use tantivy::query::{
    BooleanQuery, BoostQuery, DisjunctionMaxQuery, Occur, PhraseQuery, Query, TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption};

use super::boosting::BoostingQuery;
use super::{Leaf, Tree};

/// The tantivy query of a whole plan. In a union, even of one term, tantivy skips documents that cannot be among the
/// top ones. A weight around the union would prevent that, so each term has its weight.
pub fn lower(tree: &Tree<Leaf>, field: Field) -> Box<dyn Query> {
    match tree {
        Tree::Leaf(_) => Box::new(BooleanQuery::new(vec![(Occur::Should, query(tree, field))])),
        _ => query(tree, field),
    }
}

fn query(tree: &Tree<Leaf>, field: Field) -> Box<dyn Query> {
    match tree {
        // A plan for one column has no `Bm25f`.
        Tree::Nothing | Tree::Bm25f(_) => Box::new(BooleanQuery::new(Vec::new())),
        Tree::Leaf(Leaf::Term { text, weight }) => {
            let term = Term::from_field_text(field, text);
            weighted(TermQuery::new(term, IndexRecordOption::WithFreqs), *weight)
        }
        Tree::Leaf(Leaf::Phrase {
            terms,
            slop,
            weight,
        }) => {
            let terms = terms
                .iter()
                .map(|(place, text)| (*place, Term::from_field_text(field, text)))
                .collect();
            weighted(PhraseQuery::new_with_offset_and_slop(terms, *slop), *weight)
        }
        Tree::Boolean {
            must,
            should,
            must_not,
        } => {
            let clauses = [
                (Occur::Must, must),
                (Occur::Should, should),
                (Occur::MustNot, must_not),
            ];
            let clauses = clauses.into_iter().flat_map(|(occur, queries)| {
                queries.iter().map(move |tree| (occur, query(tree, field)))
            });
            Box::new(BooleanQuery::new(clauses.collect()))
        }
        Tree::DisjunctionMax(queries) => {
            let queries = queries.iter().map(|tree| query(tree, field)).collect();
            Box::new(DisjunctionMaxQuery::new(queries))
        }
        Tree::Boosting {
            positive,
            negative,
            factor,
        } => Box::new(BoostingQuery::new(
            query(positive, field),
            query(negative, field),
            *factor,
        )),
    }
}

fn weighted(query: impl Query, weight: f32) -> Box<dyn Query> {
    match weight == 1.0 {
        true => Box::new(query),
        false => Box::new(BoostQuery::new(Box::new(query), weight)),
    }
}
