//! Collects the rows of one column.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::time::Instant;

use tantivy::TERMINATED;
use tantivy::query::{EnableScoring, Weight};

use super::lower::lower;
use super::plan::Searched;
use super::{Hit, Interrupt, Leaf, Observe, Step, Tree};
use crate::error::{Error, Result};
use crate::view::View;

/// Rows between two checks for cancellation.
const PATIENCE: u32 = 1_024;

/// The top `reach` rows, in no order.
pub fn top(
    searched: Searched<'_>,
    tree: &Tree<Leaf>,
    reach: usize,
    interrupt: Interrupt<'_>,
    observe: Observe<'_>,
) -> Result<Vec<Hit>> {
    let view = searched.view;
    let mut best = TopRows::new(reach);
    let Some(weight) = weight(view, tree)? else {
        return Ok(Vec::new());
    };
    if reach == 0 {
        return Ok(Vec::new());
    }
    // The greatest row id so far, as long as all came in the order of their ids.
    let mut passed = Some(None);
    for (number, part, documents) in view.searched(searched.restriction) {
        if documents.count() == 0 {
            continue;
        }
        if interrupt() {
            return Err(Error::Interrupted);
        }
        let (started, mut rows) = (Instant::now(), 0);
        let segment = part.segment();
        let ascending = segment.ascending();
        passed = match (passed, ascending) {
            (Some(last), Some((first_row, last_row)))
                if last.is_none_or(|last| last < first_row) =>
            {
                Some(Some(last_row))
            }
            _ => None,
        };
        let threshold = Threshold {
            slack: view.slack(part),
            in_order: passed.is_some(),
        };
        let mut floor = threshold.at(best.floor());
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
            let found = documents.contains(document);
            rows += u64::from(found);
            if found && score >= best.floor() {
                let row = segment.row(document);
                if best.offer(Hit { row, score }) {
                    floor = threshold.at(best.floor());
                }
            }
            floor
        })?;
        if interrupted {
            return Err(Error::Interrupted);
        }
        observe(Step {
            column: searched.column,
            part: number,
            rows,
            time: started.elapsed(),
        });
    }
    Ok(best.into_hits())
}

/// Every row, ordered by row id.
pub fn all(
    searched: Searched<'_>,
    tree: &Tree<Leaf>,
    interrupt: Interrupt<'_>,
    observe: Observe<'_>,
) -> Result<Vec<Hit>> {
    let mut hits = Vec::new();
    let Some(weight) = weight(searched.view, tree)? else {
        return Ok(hits);
    };
    for (number, part, documents) in searched.view.searched(searched.restriction) {
        if documents.count() == 0 {
            continue;
        }
        let (started, before) = (Instant::now(), hits.len());
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
        observe(Step {
            column: searched.column,
            part: number,
            rows: (hits.len() - before) as u64,
            time: started.elapsed(),
        });
    }
    hits.sort_unstable_by_key(|hit| hit.row);
    Ok(hits)
}

/// One weight serves all segments: their fields are the same and the statistics are those of the view.
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

/// The score that a document must exceed to be scored.
struct Threshold {
    /// The bounds of scores may be too low by this factor.
    slack: f32,
    /// Rows arrive in the order of their ids: of equal scores the first is the better one, and later ones need not be
    /// scored. That matters, because in short texts most scores of a word are equal. Sums of three or more scores count
    /// as equal if they differ only by the rounding of another order of addition.
    in_order: bool,
}

impl Threshold {
    /// `floor`: the lowest of the top scores so far.
    fn at(&self, floor: f32) -> f32 {
        if floor <= 0.0 {
            floor.next_down()
        } else if self.in_order && self.slack == 1.0 {
            floor
        } else {
            // Sums in another order of addition may differ a little.
            floor / self.slack * (1.0 - 1e-6)
        }
    }
}

/// The top rows so far.
struct TopRows {
    reach: usize,
    heap: BinaryHeap<Worst>,
}

impl TopRows {
    fn new(reach: usize) -> Self {
        Self {
            reach,
            heap: BinaryHeap::new(),
        }
    }

    /// A row with a lower score cannot be among the top rows.
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

/// Orders the worst row as the greatest.
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
