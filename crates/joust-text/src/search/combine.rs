//! Combines rows of several columns by row id.

use super::tree::End;
use super::{Hit, Tree};
use crate::error::{Error, Result};

/// The most rows held in memory while they are combined: 16 bytes each.
const MOST_HELD: usize = 16 << 20;

/// Every row of a tree, ordered by row id; `rows` returns those of a leaf in that order.
pub fn rows<L>(
    tree: &Tree<L>,
    rows_of: &mut dyn FnMut(End<'_, L>) -> Result<Vec<Hit>>,
) -> Result<Vec<Hit>> {
    rows_within(tree, rows_of, 0)
}

fn rows_within<L>(
    tree: &Tree<L>,
    rows_of: &mut dyn FnMut(End<'_, L>) -> Result<Vec<Hit>>,
    held: usize,
) -> Result<Vec<Hit>> {
    let hits = match tree {
        Tree::Nothing => Vec::new(),
        Tree::Leaf(leaf) => rows_of(End::Leaf(leaf))?,
        Tree::Bm25f(combined) => rows_of(End::Bm25f(combined))?,
        Tree::DisjunctionMax(queries) => {
            let mut found = Vec::new();
            for query in queries {
                let next = rows_within(query, rows_of, held + found.len())?;
                found = union(found, next, f32::max);
            }
            found
        }
        Tree::Boolean {
            must,
            should,
            must_not,
        } => {
            let mut found: Option<Vec<Hit>> = None;
            for query in must {
                let before = found.as_ref().map_or(0, Vec::len);
                let next = rows_within(query, rows_of, held + before)?;
                found = Some(match found {
                    None => next,
                    Some(found) => both(found, &next, |hit, other| hit.score += other.score),
                });
            }
            let mut extra = Vec::new();
            for query in should {
                let before = found.as_ref().map_or(0, Vec::len) + extra.len();
                let next = rows_within(query, rows_of, held + before)?;
                extra = union(extra, next, |a, b| a + b);
            }
            let mut found = match found {
                None => extra,
                Some(found) => with(found, &extra, |hit, other| hit.score += other.score),
            };
            for query in must_not {
                let next = rows_within(query, rows_of, held + found.len())?;
                found = without(found, &next);
            }
            found
        }
        Tree::Boosting {
            positive,
            negative,
            factor,
        } => {
            let found = rows_within(positive, rows_of, held)?;
            let negative = rows_within(negative, rows_of, held + found.len())?;
            with(found, &negative, |hit, other| {
                hit.score -= factor * other.score;
            })
        }
    };
    if held + hits.len() > MOST_HELD {
        return Err(Error::invalid(format!(
            "the text query combines more than {MOST_HELD} rows of several columns; make a part of \
             it rarer or search one column"
        )));
    }
    Ok(hits)
}

/// Rows of any of several lists, each with its best score.
pub fn best_of(lists: Vec<Vec<Hit>>) -> Vec<Hit> {
    let mut found = Vec::new();
    for mut list in lists {
        list.sort_unstable_by_key(|hit| hit.row);
        found = union(found, list, f32::max);
    }
    found
}

fn union(a: Vec<Hit>, b: Vec<Hit>, score: impl Fn(f32, f32) -> f32) -> Vec<Hit> {
    if a.is_empty() {
        return b;
    }
    let mut found = Vec::with_capacity(a.len() + b.len());
    let (mut a, mut b) = (a.into_iter().peekable(), b.into_iter().peekable());
    loop {
        let next = match (a.peek(), b.peek()) {
            (Some(x), Some(y)) if x.row == y.row => {
                let merged = Hit {
                    row: x.row,
                    score: score(x.score, y.score),
                };
                a.next();
                b.next();
                Some(merged)
            }
            (Some(x), Some(y)) if y.row < x.row => b.next(),
            (Some(_), _) => a.next(),
            (None, _) => b.next(),
        };
        match next {
            Some(hit) => found.push(hit),
            None => return found,
        }
    }
}

/// Rows in both lists.
fn both(found: Vec<Hit>, other: &[Hit], change: impl Fn(&mut Hit, &Hit)) -> Vec<Hit> {
    let mut other = Cursor::new(other);
    found
        .into_iter()
        .filter_map(|mut hit| {
            let same = other.at(hit.row)?;
            change(&mut hit, same);
            Some(hit)
        })
        .collect()
}

/// All rows of the first list; `change` is applied to those that are in the second, too.
fn with(mut found: Vec<Hit>, other: &[Hit], change: impl Fn(&mut Hit, &Hit)) -> Vec<Hit> {
    let mut other = Cursor::new(other);
    for hit in &mut found {
        if let Some(same) = other.at(hit.row) {
            change(hit, same);
        }
    }
    found
}

fn without(mut found: Vec<Hit>, other: &[Hit]) -> Vec<Hit> {
    let mut other = Cursor::new(other);
    found.retain(|hit| other.at(hit.row).is_none());
    found
}

/// Walks a list in the order of its rows.
struct Cursor<'a>(&'a [Hit]);

impl<'a> Cursor<'a> {
    fn new(hits: &'a [Hit]) -> Self {
        Self(hits)
    }

    /// The entry of a row; rows are requested in ascending order.
    fn at(&mut self, row: u64) -> Option<&'a Hit> {
        let skip = self.0.iter().take_while(|hit| hit.row < row).count();
        self.0 = &self.0[skip..];
        self.0.first().filter(|hit| hit.row == row)
    }
}
