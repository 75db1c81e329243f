//! A text search in words: what it means, and what it did.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use joust_text::search::Step;

use super::search::Found;

impl Found {
    /// The search in words.
    pub fn describe(&self) -> String {
        let mut out = String::new();
        let reach = match self.search.reach {
            reach if reach >= i64::MAX as u64 => "all".to_string(),
            reach => reach.to_string(),
        };
        let _ = writeln!(out, "TextMatch: rows={reach}");
        if let Some(filter) = &self.search.filter {
            let when = match self.search.prefilter {
                true => "before",
                false => "after",
            };
            let filter: Vec<&str> = filter.sql().split_whitespace().collect();
            let filter = filter.join(" ");
            let _ = writeln!(out, "  filter {when} the search: {filter}");
        }
        for line in self.plan.describe().lines() {
            let _ = writeln!(out, "  {line}");
        }
        for (index, (column, view)) in self.indexes.iter().zip(self.plan.columns()) {
            let segments = index.entries.len();
            let filled = index.filled();
            let (mut rows, mut tail) = (0_u64, 0_u64);
            for (place, part) in view.parts().iter().enumerate() {
                let visible = u64::from(part.visible().count());
                match place < filled {
                    true => rows += visible,
                    false => tail += visible,
                }
            }
            let _ = writeln!(
                out,
                "  index `{}` on `{column}`: {segments} segments with {rows} rows, {tail} rows in \
                 the tail",
                index.name
            );
        }
        out
    }

    /// Each segment by itself, and the tail as a whole.
    pub(super) fn describe_steps(&self, steps: &[Step]) -> String {
        let mut out = String::new();
        for (number, index) in self.indexes.iter().enumerate() {
            let filled = index.filled();
            let mut segments: BTreeMap<usize, Done> = BTreeMap::new();
            let mut tail: Option<Done> = None;
            for step in steps.iter().filter(|step| step.column == number) {
                match step.part < filled {
                    true => segments.entry(step.part).or_default().add(step),
                    false => tail.get_or_insert_default().add(step),
                }
            }
            let segments = segments
                .into_iter()
                .map(|(part, done)| (format!("segment {}", part + 1), done));
            let tail = tail.into_iter().map(|done| ("tail".to_string(), done));
            for (part, Done { rows, time }) in segments.chain(tail) {
                let name = &index.name;
                let _ = writeln!(
                    out,
                    "text, index `{name}`, {part}: rows={rows}, time={time:?}"
                );
            }
        }
        out
    }
}

/// What was done in some parts.
#[derive(Default)]
struct Done {
    rows: u64,
    time: Duration,
}

impl Done {
    fn add(&mut self, step: &Step) {
        self.rows += step.rows;
        self.time += step.time;
    }
}
