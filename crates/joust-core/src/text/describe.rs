//! The plan of a text search, and its execution metrics.

use std::collections::BTreeMap;
use std::time::Duration;

use joust_text::query::{Fuzziness, Query};
use joust_text::search::Step as Trace;

use super::search::Found;
use super::view::Indexed;
use crate::plan_format::{self, Measured, Step};
use crate::schema::expression::Expression;

impl Found {
    /// The plan of the search; `done`: its result, and the metrics of each part of each index.
    pub fn steps(&self, done: Option<(Measured, &[Trace])>) -> Step {
        let reach = match self.search.reach {
            reach if reach >= i64::MAX as u64 => "all".to_string(),
            reach => reach.to_string(),
        };
        let (measured, traces) = done.unzip();
        let indexes = self.indexes.iter().enumerate();
        let indexes = indexes.map(|(number, index)| self.index(number, index, traces));
        let filter = self.search.filter.as_ref().map(Expression::sql);
        let before = filter.filter(|_| self.search.prefilter).map(|filter| {
            let all = self.dataset.fragments().len();
            plan_format::read("LanceRead", &self.dataset, &[], all, Some(filter))
        });
        let search = Step::new(format!("TextMatch: rows={reach}"))
            .reads([asked(&self.query)])
            .reads(Step::of_text(&self.plan.describe()))
            .reads(before)
            .reads(indexes);
        match filter.filter(|_| !self.search.prefilter) {
            Some(filter) => {
                let filter = plan_format::filter_of(&self.dataset, filter);
                let after = Step::new(format!("FilterExec: {filter}"));
                after.measured(measured).reads([search])
            }
            None => search.measured(measured),
        }
    }

    fn index(&self, number: usize, index: &Indexed, traces: Option<&[Trace]>) -> Step {
        let filled = index.filled();
        let (mut rows, mut tail) = (0_u64, 0_u64);
        let mut column = "";
        if let Some((name, view)) = self.plan.columns().nth(number) {
            column = name;
            for (place, part) in view.parts().iter().enumerate() {
                let visible = u64::from(part.visible().count());
                match place < filled {
                    true => rows += visible,
                    false => tail += visible,
                }
            }
        }
        let segments = index.entries.len();
        Step::new(format!(
            "TextIndex: name={}, column={column}, segments={segments}, rows={rows}, tail={tail}",
            index.name
        ))
        .reads(parts(number, filled, traces.unwrap_or_default()))
    }
}

/// Each segment of an index by itself, and the tail as a whole.
fn parts(number: usize, filled: usize, traces: &[Trace]) -> Vec<Step> {
    let mut segments: BTreeMap<usize, Done> = BTreeMap::new();
    let mut tail: Option<Done> = None;
    for trace in traces.iter().filter(|trace| trace.column == number) {
        match trace.part < filled {
            true => segments.entry(trace.part).or_default().add(trace),
            false => tail.get_or_insert_default().add(trace),
        }
    }
    let segments = segments
        .into_iter()
        .map(|(part, done)| (format!("TextSegment: number={}", part + 1), done));
    let tail = tail.into_iter().map(|done| ("TextTail".to_string(), done));
    let parts = segments.chain(tail);
    let steps = parts
        .map(|(part, Done { rows, time })| Step::new(part).measured(Some(Measured { rows, time })));
    steps.collect()
}

/// The query in the notation of Lance's plans.
fn asked(query: &Query) -> Step {
    let all = |queries: &[Query]| queries.iter().map(asked).collect::<Vec<_>>();
    let named = |column: &Option<String>| column.clone().unwrap_or_default();
    match query {
        Query::Match(query) => {
            let fuzziness = match query.fuzziness {
                Fuzziness::Exact => String::new(),
                Fuzziness::Auto => ", fuzziness=auto".to_string(),
                Fuzziness::Edits(edits) => format!(", fuzziness={edits}"),
            };
            Step::new(format!(
                "MatchQuery: column={}, query=[{}]{fuzziness}",
                named(&query.column),
                one_line(&query.terms)
            ))
        }
        Query::Phrase(query) => Step::new(format!(
            "PhraseQuery: column={}, query={}",
            named(&query.column),
            one_line(&query.terms)
        )),
        Query::Boost {
            positive,
            negative,
            negative_boost,
        } => Step::new(format!("BoostQuery: negative_boost={negative_boost}"))
            .reads([asked(positive), asked(negative)]),
        Query::DisjunctionMax(queries) => Step::new("MultiMatchQuery").reads(all(queries)),
        Query::CombinedFields(query) => Step::new(format!(
            "CombinedFieldsQuery: columns=[{}], query=[{}]",
            query.columns.join(", "),
            one_line(&query.terms)
        )),
        Query::Boolean {
            must,
            should,
            must_not,
        } => Step::new(format!(
            "BooleanQuery: should={}, must={}, must_not={}",
            should.len(),
            must.len(),
            must_not.len()
        ))
        .reads(all(should))
        .reads(all(must))
        .reads(all(must_not)),
    }
}

fn one_line(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Totals over some parts.
#[derive(Default)]
struct Done {
    rows: u64,
    time: Duration,
}

impl Done {
    fn add(&mut self, trace: &Trace) {
        self.rows += trace.rows;
        self.time += trace.time;
    }
}
