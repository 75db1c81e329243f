//! Plans for callers with a row filter.
//!
//! A step may describe rows that the filter hides: it counts the rows of an index, or names the words of a table that a
//! fuzzy term stands for. So this is a list of what is shown: operators with the attributes that come from the query, the
//! grant or the columns of the table. Another operator is left out, and its inputs are in its place.

use super::Step;

/// The attributes of an operator that are shown.
#[derive(Clone, Copy)]
enum Shown {
    All,
    /// Those with these names.
    Named(&'static [&'static str]),
    /// The columns and the filters of a read.
    Read,
}

const OPERATORS: &[(&str, Shown)] = &[
    (
        "ANNIvfPartition",
        Shown::Named(&["minimum_nprobes", "maximum_nprobes"]),
    ),
    ("ANNSubIndex", Shown::Named(&["name", "k", "metric"])),
    ("BooleanQuery", Shown::All),
    ("BoostQuery", Shown::All),
    ("CombinedFieldsQuery", Shown::All),
    ("FilterExec", Shown::All),
    ("FlatMatchFilter", Shown::All),
    ("FlatMatchQuery", Shown::All),
    ("Fuse", Shown::All),
    ("GlobalLimitExec", Shown::All),
    ("KNNVectorDistance", Shown::Named(&["metric", "k"])),
    ("LanceRead", Shown::Read),
    ("LanceScan", Shown::Read),
    ("MatchQuery", Shown::All),
    ("MultiMatchQuery", Shown::All),
    ("MultivectorScoring", Shown::All),
    ("PhraseQuery", Shown::All),
    ("ProjectionExec", Shown::All),
    ("ScalarIndexQuery", Shown::All),
    ("SortExec", Shown::All),
    ("Take", Shown::All),
    ("TextMatch", Shown::All),
    ("UnionExec", Shown::All),
];

/// What a caller with a row filter may see of a plan, below one step for the result.
pub fn visible(plan: Vec<Step>) -> Step {
    Step::new("VisibleRowsExec").reads(plan.into_iter().flat_map(shown))
}

fn shown(step: Step) -> Vec<Step> {
    let inputs: Vec<Step> = step.inputs.into_iter().flat_map(shown).collect();
    match line(&step.operator) {
        Some(operator) => vec![Step::new(operator).reads(inputs)],
        None => inputs,
    }
}

/// The shown part of the line of a step.
fn line(operator: &str) -> Option<String> {
    let (name, attributes) = operator.split_once(": ").unwrap_or((operator, ""));
    let (_, shown) = OPERATORS.iter().find(|(known, _)| *known == name)?;
    let attributes = match shown {
        Shown::All => attributes.to_string(),
        Shown::Named(names) => {
            let is_shown = |attribute: &&str| {
                let name = attribute.split_once('=').map(|(name, _)| name);
                name.is_some_and(|name| names.contains(&name))
            };
            let shown = attributes.split(", ").filter(is_shown);
            shown.collect::<Vec<_>>().join(", ")
        }
        Shown::Read => read(attributes),
    };
    Some(match attributes.is_empty() {
        true => name.to_string(),
        false => format!("{name}: {attributes}"),
    })
}

/// Without the location of the table and the number of its fragments. The filters are the last attributes.
fn read(attributes: &str) -> String {
    let columns = attributes.find("projection=[");
    let columns = columns.map(|start| {
        let columns = &attributes[start..];
        columns
            .find("], num_fragments=")
            .map_or("", |end| &columns[..=end])
    });
    let filters = attributes.find("full_filter=");
    let filters = filters.map(|start| &attributes[start..]);
    let shown = [columns, filters].into_iter().flatten();
    let shown = shown.filter(|part| !part.is_empty());
    shown.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(plan: &[&str]) -> String {
        visible(Step::of_text(&plan.join("\n"))).explain()
    }

    #[test]
    fn a_step_shows_only_what_the_query_and_the_columns_say() {
        let plan = shown(&[
            "ProjectionExec: expr=[id]",
            "  UnionExec",
            "    ANNSubIndex: name=v_idx, k=3, deltas=7, metric=L2, index `v_idx` on `v` in memory",
            "      ANNIvfPartition: uuid=0b, minimum_nprobes=1, maximum_nprobes=None, deltas=7",
            "      LanceRead: uri=t/data, projection=[a, b], num_fragments=9, range_before=None, \
             full_filter=a = 1 AND b = 2, refine_filter=--",
            "    KNNVectorDistance: metric=l2, k=3, 5 fragments that the index does not cover",
        ]);
        let lines = [
            "VisibleRowsExec",
            "  ProjectionExec: expr=[id]",
            "    UnionExec",
            "      ANNSubIndex: name=v_idx, k=3, metric=L2",
            "        ANNIvfPartition: minimum_nprobes=1, maximum_nprobes=None",
            "        LanceRead: projection=[a, b], full_filter=a = 1 AND b = 2, refine_filter=--",
            "      KNNVectorDistance: metric=l2, k=3",
        ];
        assert_eq!(plan, lines.join("\n") + "\n");
    }

    #[test]
    fn a_step_that_describes_rows_is_left_out() {
        let plan = shown(&[
            "TextMatch: rows=5",
            "  AnyOf",
            "    Term: `hidden`, weight=0.5",
            "  TextIndex: name=x, column=x, segments=2, rows=12, tail=3",
            "    LanceRead: uri=t, projection=[], source=stream(hidden)",
            "Another: FilterExec: hidden",
        ]);
        let lines = ["VisibleRowsExec", "  TextMatch: rows=5", "    LanceRead"];
        assert_eq!(plan, lines.join("\n") + "\n");
    }
}
