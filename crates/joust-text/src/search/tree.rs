//! The shape of all plans.

use super::bm25f::Bm25f;

/// Nested queries with `L` as leaves.
#[derive(Debug, Clone, PartialEq)]
pub enum Tree<L> {
    /// Matches no row.
    Nothing,
    Leaf(L),
    /// See [`Query::Boolean`](crate::query::Query::Boolean).
    Boolean {
        must: Vec<Tree<L>>,
        should: Vec<Tree<L>>,
        must_not: Vec<Tree<L>>,
    },
    /// Each row takes the best score of any query.
    DisjunctionMax(Vec<Tree<L>>),
    /// Rows of `positive`; a row that `negative` matches loses `factor` times the score of `negative`.
    Boosting {
        positive: Box<Tree<L>>,
        negative: Box<Tree<L>>,
        factor: f32,
    },
    /// Several columns as one text; only in a plan over several columns.
    Bm25f(Bm25f),
}

/// A node without children.
pub enum End<'a, L> {
    Leaf(&'a L),
    Bm25f(&'a Bm25f),
}

/// A leaf: the query of one column's index.
#[derive(Debug, Clone, PartialEq)]
pub enum Leaf {
    Term {
        text: String,
        weight: f32,
    },
    /// Terms at their positions in the phrase.
    Phrase {
        terms: Vec<(usize, String)>,
        slop: u32,
        weight: f32,
    },
}

/// The constructors drop nodes that do not change the result, so that a plan is no deeper than necessary.
impl<L> Tree<L> {
    pub fn any(should: Vec<Self>) -> Self {
        Self::boolean(Vec::new(), should, Vec::new())
    }

    pub fn all(must: Vec<Self>) -> Self {
        Self::boolean(must, Vec::new(), Vec::new())
    }

    pub fn boolean(must: Vec<Self>, should: Vec<Self>, must_not: Vec<Self>) -> Self {
        if must.iter().any(Self::is_nothing) {
            return Self::Nothing;
        }
        let mut flat = Vec::with_capacity(should.len());
        for query in should {
            match query {
                Self::Nothing => {}
                Self::Boolean {
                    must,
                    should,
                    must_not,
                } if must.is_empty() && must_not.is_empty() => flat.extend(should),
                query => flat.push(query),
            }
        }
        let should = flat;
        let must_not: Vec<Self> = must_not
            .into_iter()
            .filter(|query| !query.is_nothing())
            .collect();
        match (must.len(), should.len(), must_not.len()) {
            (0, 0, _) => Self::Nothing,
            (1, 0, 0) => only(must),
            (0, 1, 0) => only(should),
            _ => Self::Boolean {
                must,
                should,
                must_not,
            },
        }
    }

    pub fn disjunction_max(queries: Vec<Self>) -> Self {
        let queries: Vec<Self> = queries
            .into_iter()
            .filter(|query| !query.is_nothing())
            .collect();
        match queries.len() {
            0 => Self::Nothing,
            1 => only(queries),
            _ => Self::DisjunctionMax(queries),
        }
    }

    pub fn boosting(positive: Self, negative: Self, factor: f32) -> Self {
        if positive.is_nothing() || negative.is_nothing() || factor == 0.0 {
            return positive;
        }
        Self::Boosting {
            positive: Box::new(positive),
            negative: Box::new(negative),
            factor,
        }
    }

    pub fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing)
    }

    fn has_boosting(&self) -> bool {
        match self {
            Self::Nothing | Self::Leaf(_) | Self::Bm25f(_) => false,
            Self::Boosting { .. } => true,
            Self::DisjunctionMax(queries) => queries.iter().any(Self::has_boosting),
            Self::Boolean { must, should, .. } => must.iter().chain(should).any(Self::has_boosting),
        }
    }

    /// Every leaf that can match rows, without the leaves that exclude rows.
    pub fn found<'a>(&'a self, sink: &mut dyn FnMut(End<'a, L>)) {
        match self {
            Self::Nothing => {}
            Self::Leaf(leaf) => sink(End::Leaf(leaf)),
            Self::Bm25f(combined) => sink(End::Bm25f(combined)),
            Self::Boolean { must, should, .. } => {
                for query in must.iter().chain(should) {
                    query.found(sink);
                }
            }
            Self::DisjunctionMax(queries) => queries.iter().for_each(|query| query.found(sink)),
            Self::Boosting { positive, .. } => positive.found(sink),
        }
    }
}

fn only<L>(queries: Vec<Tree<L>>) -> Tree<L> {
    queries.into_iter().next().unwrap_or(Tree::Nothing)
}

/// Groups a tree over leaves of columns: the largest subtrees of one column become the new leaves.
pub fn by_column<L>(tree: Tree<(usize, L)>) -> Tree<(usize, Tree<L>)> {
    match tree {
        Tree::Nothing => Tree::Nothing,
        Tree::Bm25f(combined) => Tree::Bm25f(combined),
        Tree::Leaf((column, leaf)) => Tree::Leaf((column, Tree::Leaf(leaf))),
        Tree::DisjunctionMax(queries) => {
            let mut groups: Vec<Tree<(usize, Tree<L>)>> = Vec::new();
            for query in queries.into_iter().map(by_column) {
                merge_best(&mut groups, query);
            }
            Tree::disjunction_max(groups)
        }
        Tree::Boolean {
            must,
            should,
            must_not,
        } => {
            let split = |queries: Vec<_>| queries.into_iter().map(by_column).collect::<Vec<_>>();
            let (must, should, must_not) = (split(must), split(should), split(must_not));
            match shared_column(must.iter().chain(&should).chain(&must_not)) {
                Some(column) => Tree::Leaf((
                    column,
                    Tree::boolean(inner(must), inner(should), inner(must_not)),
                )),
                None => Tree::boolean(must, should, must_not),
            }
        }
        Tree::Boosting {
            positive,
            negative,
            factor,
        } => {
            let (positive, negative) = (by_column(*positive), by_column(*negative));
            match shared_column([&positive, &negative].into_iter()) {
                Some(column) => {
                    let mut both = inner(vec![positive, negative]).into_iter();
                    let positive = both.next().unwrap_or(Tree::Nothing);
                    let negative = both.next().unwrap_or(Tree::Nothing);
                    Tree::Leaf((column, Tree::boosting(positive, negative, factor)))
                }
                None => Tree::boosting(positive, negative, factor),
            }
        }
    }
}

/// Adds a query to the group of its column. A query that can score below zero stays separate: tantivy takes nothing
/// below zero as a best score.
fn merge_best<L>(groups: &mut Vec<Tree<(usize, Tree<L>)>>, query: Tree<(usize, Tree<L>)>) {
    let Tree::Leaf((column, query)) = query else {
        groups.push(query);
        return;
    };
    let same = groups.iter_mut().find_map(|group| match group {
        Tree::Leaf((other, group)) if *other == column && !group.has_boosting() => Some(group),
        _ => None,
    });
    match same {
        Some(group) if !query.has_boosting() => match group {
            Tree::DisjunctionMax(queries) => queries.push(query),
            group => {
                let first = std::mem::replace(group, Tree::Nothing);
                *group = Tree::DisjunctionMax(vec![first, query]);
            }
        },
        _ => groups.push(Tree::Leaf((column, query))),
    }
}

fn shared_column<'a, L: 'a>(
    mut trees: impl Iterator<Item = &'a Tree<(usize, Tree<L>)>>,
) -> Option<usize> {
    let column_of = |tree: &Tree<(usize, Tree<L>)>| match tree {
        Tree::Leaf((column, _)) => Some(*column),
        _ => None,
    };
    let first = column_of(trees.next()?)?;
    trees
        .all(|tree| column_of(tree) == Some(first))
        .then_some(first)
}

fn inner<L>(trees: Vec<Tree<(usize, Tree<L>)>>) -> Vec<Tree<L>> {
    trees
        .into_iter()
        .filter_map(|tree| match tree {
            Tree::Leaf((_, tree)) => Some(tree),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(column: usize, name: char) -> Tree<(usize, char)> {
        Tree::Leaf((column, name))
    }

    #[test]
    fn what_makes_no_difference_is_left_out() {
        let one = || Tree::Leaf('a');
        let nothing = || Tree::Nothing;
        assert_eq!(Tree::any(vec![nothing(), Tree::any(vec![one()])]), one());
        assert_eq!(Tree::all(vec![one(), nothing()]), nothing());
        assert_eq!(Tree::disjunction_max(vec![nothing(), one()]), one());
        assert_eq!(Tree::boosting(one(), nothing(), 1.0), one());
        assert_eq!(Tree::boosting(nothing(), one(), 1.0), nothing());
        assert_eq!(
            Tree::boolean(vec![], vec![], vec![one()]),
            nothing(),
            "nothing but exclusions finds nothing"
        );
    }

    #[test]
    fn one_column_is_one_end() {
        let tree = Tree::boolean(
            vec![leaf(1, 'a')],
            vec![Tree::disjunction_max(vec![leaf(1, 'b'), leaf(1, 'c')])],
            vec![],
        );
        assert!(matches!(by_column(tree), Tree::Leaf((1, _))));
    }

    #[test]
    fn the_best_of_two_columns_has_an_end_for_each() {
        let tree = Tree::disjunction_max(vec![leaf(0, 'a'), leaf(1, 'b'), leaf(0, 'c')]);
        let expected = Tree::DisjunctionMax(vec![
            Tree::Leaf((
                0,
                Tree::DisjunctionMax(vec![Tree::Leaf('a'), Tree::Leaf('c')]),
            )),
            Tree::Leaf((1, Tree::Leaf('b'))),
        ]);
        assert_eq!(by_column(tree), expected);
    }

    #[test]
    fn columns_that_are_combined_stay_apart() {
        let tree = Tree::all(vec![leaf(0, 'a'), leaf(1, 'b')]);
        let expected = Tree::all(vec![
            Tree::Leaf((0, Tree::Leaf('a'))),
            Tree::Leaf((1, Tree::Leaf('b'))),
        ]);
        assert_eq!(by_column(tree), expected);
    }
}
