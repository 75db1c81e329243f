//! Many rows, in segments that are made of them in every way.

#![allow(clippy::unwrap_used)]

mod making;
mod searching;

use std::path::Path;
use std::sync::Arc;

use joust_text::Result;
use joust_text::analysis::{Analysis, Params};
use joust_text::query::{Limits, Match, Operator, Query};
use joust_text::search::{Hit, Plan};
use joust_text::segment::{Builder, Segment};
use joust_text::view::{Part, View};

/// A small generator of numbers, so that every run has the same rows.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % limit
    }

    /// Few words are frequent and many are rare.
    fn word(&mut self) -> String {
        let limit = 1 + self.below(300);
        format!("w{}", self.below(limit))
    }

    fn text(&mut self, words: u64) -> String {
        let count = 1 + self.below(words);
        (0..count)
            .map(|_| self.word())
            .collect::<Vec<_>>()
            .join(" ")
    }
}

fn analysis() -> Arc<Analysis> {
    Arc::new(
        Analysis::new(&Params {
            with_position: Some(true),
            ..Params::default()
        })
        .unwrap(),
    )
}

/// Rows of each segment with texts of very different lengths, so that their own bounds mislead most.
fn texts() -> Vec<Vec<(u64, String)>> {
    let mut random = Random(7);
    let mut row = 0;
    [(6_000, 8), (4_000, 300), (3_000, 40)]
        .into_iter()
        .map(|(rows, words)| {
            (0..rows)
                .map(|_| {
                    row += 1;
                    (row, random.text(words))
                })
                .collect()
        })
        .collect()
}

fn segment(analysis: &Analysis, rows: &[(u64, String)]) -> Arc<Segment> {
    let mut builder = Builder::in_memory(analysis, Path::new("none"), usize::MAX).unwrap();
    for (row, text) in rows {
        builder.add(*row, [text.as_str()]).unwrap();
    }
    builder.finish().unwrap().unwrap().open().unwrap()
}

fn view(segments: &[Arc<Segment>], visible: impl Fn(u64) -> bool + Copy) -> Arc<View> {
    let parts = segments
        .iter()
        .map(|segment| Arc::new(Part::new(segment.clone(), visible).unwrap()))
        .collect();
    Arc::new(View::new(analysis(), parts).unwrap())
}

fn words(terms: &str, operator: Operator) -> Query {
    Query::Match(Match {
        column: Some("x".into()),
        operator,
        ..Match::new(terms)
    })
}

fn plan(view: &Arc<View>, query: &Query) -> Result<Plan> {
    let columns = vec![("x".to_string(), view.clone())];
    Plan::new(query, columns, Limits::default(), &|| false)
}

fn search(view: &Arc<View>, query: &Query, reach: usize) -> Vec<Hit> {
    plan(view, query)
        .unwrap()
        .search(reach, None, &|| false)
        .unwrap()
}

fn same(a: &[Hit], b: &[Hit]) {
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        assert!((a.score - b.score).abs() <= 1e-5 * b.score, "{a:?} {b:?}");
    }
}

fn queries() -> Vec<Query> {
    let mut random = Random(99);
    let mut queries = Vec::new();
    for round in 0..300 {
        let operator = match round % 3 {
            0 => Operator::And,
            _ => Operator::Or,
        };
        let count = 1 + random.below(4);
        let terms: Vec<String> = (0..count).map(|_| random.word()).collect();
        queries.push(words(&terms.join(" "), operator));
    }
    queries
}
