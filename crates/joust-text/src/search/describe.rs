//! A plan in words.

use std::fmt::Write;

use super::{Leaf, Plan, Tree};

impl Plan {
    /// The plan in words: terms after analysis, one line for each step.
    pub fn describe(&self) -> String {
        let mut out = String::new();
        describe(
            &self.tree,
            0,
            &mut out,
            &mut |(column, tree), depth, out| {
                line(out, depth, &format!("column `{}`", self.columns[*column].0));
                describe(tree, depth + 1, out, &mut |leaf, depth, out| {
                    line(out, depth, &leaf.describe());
                });
            },
        );
        out
    }
}

type Describe<'a, L> = &'a mut dyn FnMut(&L, usize, &mut String);

fn describe<L>(tree: &Tree<L>, depth: usize, out: &mut String, leaf: Describe<'_, L>) {
    match tree {
        Tree::Nothing => line(out, depth, "nothing"),
        Tree::Combined(asked) => {
            let how = if asked.all { "all" } else { "any" };
            let terms = asked.terms.join("`, `");
            line(
                out,
                depth,
                &format!("columns as one text: {how} of `{terms}`"),
            );
        }
        Tree::Leaf(end) => leaf(end, depth, out),
        Tree::Boolean {
            must,
            should,
            must_not,
        } => {
            for (name, queries) in [("all of", must), ("any of", should), ("none of", must_not)] {
                if !queries.is_empty() {
                    line(out, depth, name);
                }
                for query in queries {
                    describe(query, depth + 1, out, leaf);
                }
            }
        }
        Tree::Best(queries) => {
            line(out, depth, "best of");
            for query in queries {
                describe(query, depth + 1, out, leaf);
            }
        }
        Tree::Demote {
            positive,
            negative,
            factor,
        } => {
            line(out, depth, "rows of");
            describe(positive, depth + 1, out, leaf);
            line(out, depth, &format!("less {factor} times the score of"));
            describe(negative, depth + 1, out, leaf);
        }
    }
}

fn line(out: &mut String, depth: usize, text: &str) {
    let _ = writeln!(out, "{:indent$}{text}", "", indent = depth * 2);
}

impl Leaf {
    fn describe(&self) -> String {
        let weighted = |text: String, weight: f32| match weight == 1.0 {
            true => text,
            false => format!("{text}^{weight}"),
        };
        match self {
            Self::Term { text, weight } => weighted(format!("`{text}`"), *weight),
            Self::Phrase {
                terms,
                slop,
                weight,
            } => {
                let words: Vec<&str> = terms.iter().map(|(_, word)| word.as_str()).collect();
                let near = match slop {
                    0 => String::new(),
                    slop => format!(" slop {slop}"),
                };
                weighted(format!("phrase `{}`{near}", words.join(" ")), *weight)
            }
        }
    }
}
