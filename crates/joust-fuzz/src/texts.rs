//! Two columns of texts with their indexes in memory.

use std::path::Path;
use std::sync::Arc;

use joust_text::analysis::{Analysis, Params};
use joust_text::segment::Builder;
use joust_text::view::{Part, View};

/// The rows of each segment.
const TITLES: [&[&str]; 2] = [
    &[
        "the apple pie of the garden",
        "apple pie",
        "a quick brown fox",
        "",
        "the falcon and the fox",
    ],
    &[
        "falcons eat apples",
        "über den Wolken",
        "東京 都庁",
        "fox fox fox",
    ],
];
const BODIES: [&[&str]; 2] = [
    &["sour cherry juice", "sweet apple juice", "fox"],
    &["a garden of apples", "brown sugar", "the quick garden"],
];

/// Two columns, `title` and `body`, each with two segments and a hidden row.
pub struct Texts {
    columns: Vec<(String, Arc<View>)>,
}

impl Texts {
    #[must_use]
    pub fn new() -> Self {
        let params = Params {
            with_position: Some(true),
            ..Params::default()
        };
        let analysis = Arc::new(Analysis::new(&params).unwrap());
        let columns = [("title", TITLES), ("body", BODIES)];
        Self {
            columns: columns
                .map(|(name, segments)| (name.to_string(), view(&analysis, &segments)))
                .into(),
        }
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.columns.iter().map(|(name, _)| name.clone()).collect()
    }

    pub(crate) fn columns(&self) -> Vec<(String, Arc<View>)> {
        self.columns.clone()
    }
}

impl Default for Texts {
    fn default() -> Self {
        Self::new()
    }
}

fn view(analysis: &Arc<Analysis>, segments: &[&[&str]]) -> Arc<View> {
    let mut row = 0;
    let mut parts = Vec::new();
    for texts in segments {
        let mut builder = Builder::in_memory(analysis, Path::new("none"), usize::MAX).unwrap();
        for text in *texts {
            builder.add(row, [*text]).unwrap();
            row += 1;
        }
        let segment = builder.finish().unwrap().unwrap().open().unwrap();
        parts.push(Arc::new(Part::new(segment, |row| row != 1).unwrap()));
    }
    Arc::new(View::new(analysis.clone(), parts).unwrap())
}
