//! The nearest of many rows.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::Neighbor;

/// Keeps the `k` nearest; of equally near ones those with the lesser id.
pub struct TopK {
    k: usize,
    heap: BinaryHeap<Worst>,
}

struct Worst(Neighbor);

impl TopK {
    pub fn new(k: usize) -> Self {
        Self {
            k,
            heap: BinaryHeap::with_capacity(k.min(4_096) + 1),
        }
    }

    /// A row that is farther than this can't come in.
    pub fn farthest(&self) -> f32 {
        match self.heap.peek() {
            Some(Worst(neighbor)) if self.heap.len() == self.k => neighbor.distance,
            _ => f32::INFINITY,
        }
    }

    pub fn add(&mut self, neighbor: Neighbor) {
        if self.heap.len() < self.k {
            self.heap.push(Worst(neighbor));
        } else if let Some(mut worst) = self.heap.peek_mut()
            && order(&neighbor, &worst.0).is_lt()
        {
            *worst = Worst(neighbor);
        }
    }

    /// The rows, the nearest first.
    pub fn into_sorted(self) -> Vec<Neighbor> {
        let sorted = self.heap.into_sorted_vec();
        sorted.into_iter().map(|Worst(neighbor)| neighbor).collect()
    }
}

/// Puts rows in order and keeps the first `k`.
pub fn sort(rows: &mut Vec<Neighbor>, k: usize) {
    rows.sort_unstable_by(order);
    rows.truncate(k);
}

fn order(a: &Neighbor, b: &Neighbor) -> Ordering {
    a.distance.total_cmp(&b.distance).then(a.row.cmp(&b.row))
}

impl Ord for Worst {
    fn cmp(&self, other: &Self) -> Ordering {
        order(&self.0, &other.0)
    }
}

impl PartialOrd for Worst {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Worst {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Worst {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lesser_id_wins_among_equals() {
        let mut best = TopK::new(2);
        for (row, distance) in [(9, 1.0), (4, 1.0), (7, 1.0), (1, 3.0), (8, 0.5)] {
            best.add(Neighbor { row, distance });
        }
        let rows: Vec<u64> = best
            .into_sorted()
            .iter()
            .map(|neighbor| neighbor.row)
            .collect();
        assert_eq!(rows, [8, 4]);
    }

    #[test]
    fn the_limit_is_infinite_until_k_rows_are_held() {
        let mut best = TopK::new(1);
        assert_eq!(best.farthest(), f32::INFINITY);
        best.add(Neighbor {
            row: 1,
            distance: 2.0,
        });
        assert_eq!(best.farthest(), 2.0);
    }
}
