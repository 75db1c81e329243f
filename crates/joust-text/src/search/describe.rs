//! Describes a plan as text.

use std::fmt::Write;

use super::{Leaf, Plan, Tree};

impl Plan {
    /// The plan as text: terms after analysis, one line `Name: details` for each step, indented by two spaces per
    /// level.
    pub fn describe(&self) -> String {
        let mut out = String::new();
        describe(
            &self.tree,
            0,
            &mut out,
            &mut |(column, tree), depth, out| {
                let name = &self.columns[*column].0;
                line(out, depth, &format!("TextColumn: column={name}"));
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
        Tree::Nothing => line(out, depth, "EmptyExec"),
        Tree::Bm25f(asked) => {
            let how = if asked.all { "all" } else { "any" };
            let terms = asked.terms.join("`, `");
            line(out, depth, &format!("OneText: {how} of `{terms}`"));
        }
        Tree::Leaf(end) => leaf(end, depth, out),
        Tree::Boolean {
            must,
            should,
            must_not,
        } => {
            for (name, queries) in [("AllOf", must), ("AnyOf", should), ("NoneOf", must_not)] {
                if !queries.is_empty() {
                    line(out, depth, name);
                }
                for query in queries {
                    describe(query, depth + 1, out, leaf);
                }
            }
        }
        Tree::DisjunctionMax(queries) => {
            line(out, depth, "BestOf");
            for query in queries {
                describe(query, depth + 1, out, leaf);
            }
        }
        Tree::Boosting {
            positive,
            negative,
            factor,
        } => {
            line(out, depth, "RowsOf");
            describe(positive, depth + 1, out, leaf);
            line(out, depth, &format!("LessTheScoreOf: factor={factor}"));
            describe(negative, depth + 1, out, leaf);
        }
    }
}

fn line(out: &mut String, depth: usize, text: &str) {
    // A term may contain line breaks if the tokenizer keeps a value whole.
    let text = text.replace(['\n', '\r'], " ");
    let _ = writeln!(out, "{:indent$}{text}", "", indent = depth * 2);
}

impl Leaf {
    fn describe(&self) -> String {
        let weighted = |text: String, weight: f32| match weight == 1.0 {
            true => text,
            false => format!("{text}, weight={weight}"),
        };
        match self {
            Self::Term { text, weight } => weighted(format!("Term: `{text}`"), *weight),
            Self::Phrase {
                terms,
                slop,
                weight,
            } => {
                let words: Vec<&str> = terms.iter().map(|(_, word)| word.as_str()).collect();
                let near = match slop {
                    0 => String::new(),
                    slop => format!(", slop={slop}"),
                };
                weighted(format!("Phrase: `{}`{near}", words.join(" ")), *weight)
            }
        }
    }
}
