//! Rows of one column.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use tantivy::TERMINATED;
use tantivy::query::{EnableScoring, Weight};

use super::lower::lower;
use super::{Hit, Interrupt, Leaf, Tree};
use crate::error::{Error, Result};
use crate::view::{Restriction, View};

/// Rows between two questions whether to go on.
const PATIENCE: u32 = 1_024;

/// The best `reach` rows, in no order.
pub fn top(
    view: &View,
    tree: &Tree<Leaf>,
    restriction: Option<&Restriction>,
    reach: usize,
    interrupt: Interrupt<'_>,
) -> Result<Vec<Hit>> {
    let mut best = Best::new(reach);
    let Some(weight) = weight(view, tree)? else {
        return Ok(Vec::new());
    };
    if reach == 0 {
        return Ok(Vec::new());
    }
    for (part, documents) in view.searched(restriction) {
        if documents.count() == 0 {
            continue;
        }
        if interrupt() {
            return Err(Error::Interrupted);
        }
        let segment = part.segment();
        let slack = view.slack(part);
        let mut floor = below(best.floor(), slack);
        let mut patience = PATIENCE;
        let mut interrupted = false;
        weight.for_each_pruning(floor, segment.reader(), &mut |document, score| {
            patience -= 1;
            if patience == 0 {
                patience = PATIENCE;
                interrupted = interrupted || interrupt();
            }
            if interrupted {
                return f32::INFINITY;
            }
            if score >= best.floor() && documents.contains(document) {
                let row = segment.row(document);
                if best.offer(Hit { row, score }) {
                    floor = below(best.floor(), slack);
                }
            }
            floor
        })?;
        if interrupted {
            return Err(Error::Interrupted);
        }
    }
    Ok(best.into_hits())
}

/// Every row, ordered by row id.
pub fn all(
    view: &View,
    tree: &Tree<Leaf>,
    restriction: Option<&Restriction>,
    interrupt: Interrupt<'_>,
) -> Result<Vec<Hit>> {
    let mut hits = Vec::new();
    let Some(weight) = weight(view, tree)? else {
        return Ok(hits);
    };
    for (part, documents) in view.searched(restriction) {
        if documents.count() == 0 {
            continue;
        }
        let segment = part.segment();
        let mut scorer = weight.scorer(segment.reader(), 1.0)?;
        let mut seen = 0_u32;
        let mut document = scorer.doc();
        while document != TERMINATED {
            if seen.is_multiple_of(PATIENCE) && interrupt() {
                return Err(Error::Interrupted);
            }
            seen = seen.wrapping_add(1);
            if documents.contains(document) {
                let row = segment.row(document);
                let score = scorer.score();
                hits.push(Hit { row, score });
            }
            document = scorer.advance();
        }
    }
    hits.sort_unstable_by_key(|hit| hit.row);
    Ok(hits)
}

/// One weight serves all segments: their fields are the same and the statistics are the view's.
fn weight(view: &View, tree: &Tree<Leaf>) -> Result<Option<Box<dyn Weight>>> {
    let (Some(part), Some(field)) = (view.parts().first(), view.text()) else {
        return Ok(None);
    };
    if view.documents() == 0 || tree.is_nothing() {
        return Ok(None);
    }
    let scoring = EnableScoring::enabled_from_statistics_provider(view, part.segment().searcher());
    Ok(Some(lower(tree, field).weight(scoring)?))
}

/// A score that surely is below `floor` where tantivy compares with bounds that may be too low by
/// `slack`, and with sums that were added up in another order.
fn below(floor: f32, slack: f32) -> f32 {
    if floor > 0.0 {
        floor / slack * (1.0 - 1e-6)
    } else {
        floor.next_down()
    }
}

/// The best rows so far.
struct Best {
    reach: usize,
    heap: BinaryHeap<Worst>,
}

impl Best {
    fn new(reach: usize) -> Self {
        Self {
            reach,
            heap: BinaryHeap::new(),
        }
    }

    /// A row with a lower score can't be among the best.
    fn floor(&self) -> f32 {
        match self.heap.peek() {
            Some(worst) if self.heap.len() == self.reach => worst.0.score,
            _ => f32::MIN,
        }
    }

    /// Whether it was taken.
    fn offer(&mut self, hit: Hit) -> bool {
        if self.heap.len() < self.reach {
            self.heap.push(Worst(hit));
            return true;
        }
        match self.heap.peek_mut() {
            Some(mut worst) if hit.rank(&worst.0) == Ordering::Less => {
                worst.0 = hit;
                true
            }
            _ => false,
        }
    }

    fn into_hits(self) -> Vec<Hit> {
        self.heap.into_iter().map(|Worst(hit)| hit).collect()
    }
}

/// The worst row is the greatest.
struct Worst(Hit);

impl Ord for Worst {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.rank(&other.0)
    }
}

impl PartialOrd for Worst {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Worst {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Worst {}
