//! Formats plans that joust executes itself.
//!
//! They have the format of DataFusion's plans: one operator per line, above its inputs. A step that is equivalent to an
//! operator of Lance has its name and first attributes, so that tools recognize it for every strategy.

mod visible;

use std::fmt::{self, Write};
use std::time::Duration;

use datafusion::physical_plan::{ExecutionPlan, displayable};
use lance::Dataset;

pub use visible::visible;

/// Metrics of an executed step.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    pub rows: u64,
    pub time: Duration,
}

/// An operator and its inputs.
#[derive(Debug, Clone)]
pub struct Step {
    operator: String,
    measured: Option<Measured>,
    inputs: Vec<Step>,
}

impl Step {
    /// `operator`: `Name: attribute=value, …`.
    pub fn new(operator: impl Into<String>) -> Self {
        Self {
            operator: operator.into(),
            measured: None,
            inputs: Vec::new(),
        }
    }

    /// A plan that Lance executes.
    pub fn of_plan(plan: &dyn ExecutionPlan) -> Self {
        let line = displayable(plan).one_line().to_string();
        let inputs = plan.children().into_iter();
        Self::new(line.trim()).reads(inputs.map(|input| Self::of_plan(input.as_ref())))
    }

    /// Parses steps from indented text, two spaces per level.
    pub fn of_text(text: &str) -> Vec<Self> {
        let mut above: Vec<Self> = Vec::new();
        let mut roots = Vec::new();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let operator = line.trim_start();
            let depth = (line.len() - operator.len()) / 2;
            fold(&mut above, depth, &mut roots);
            above.push(Self::new(operator));
        }
        fold(&mut above, 0, &mut roots);
        roots
    }

    pub fn reads(mut self, inputs: impl IntoIterator<Item = Self>) -> Self {
        self.inputs.extend(inputs);
        self
    }

    pub fn measured(mut self, measured: Option<Measured>) -> Self {
        self.measured = measured;
        self
    }

    /// The plan without metrics.
    pub fn explain(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = self.write(&mut out, 0, false);
        out
    }

    /// The plan with the metrics of each step.
    pub fn analyze(&self) -> String {
        let mut out = String::from("AnalyzeExec verbose=true, metrics=[]\n");
        let _ = self.write(&mut out, 1, true);
        out
    }

    fn write(&self, out: &mut String, depth: usize, metrics: bool) -> fmt::Result {
        write!(out, "{:indent$}{}", "", self.operator, indent = depth * 2)?;
        match self.measured {
            Some(Measured { rows, time }) if metrics => {
                write!(out, ", metrics=[output_rows={rows}, elapsed={time:?}]")?;
            }
            None if metrics => out.push_str(", metrics=[]"),
            _ => {}
        }
        out.push('\n');
        for input in &self.inputs {
            input.write(out, depth + 1, metrics)?;
        }
        Ok(())
    }
}

/// Moves the steps from `depth` on into their parents.
fn fold(above: &mut Vec<Step>, depth: usize, roots: &mut Vec<Step>) {
    while above.len() > depth {
        let Some(step) = above.pop() else { return };
        match above.last_mut() {
            Some(parent) => parent.inputs.push(step),
            None => roots.push(step),
        }
    }
}

/// A read of table rows by `operator`, Lance's `LanceRead` or `LanceScan`.
pub fn read(
    operator: &str,
    dataset: &Dataset,
    columns: &[&str],
    fragments: usize,
    filter: Option<&str>,
) -> Step {
    Step::new(format!(
        "{operator}: uri={}, projection=[{}], num_fragments={fragments}, full_filter={}, \
         refine_filter=--",
        dataset.data_dir(),
        columns.join(", "),
        filter.map_or_else(|| "--".to_string(), |sql| filter_of(dataset, sql)),
    ))
}

/// A filter in the notation of plans.
pub fn filter_of(dataset: &Dataset, sql: &str) -> String {
    let mut scanner = dataset.scan();
    let expr = scanner
        .filter(sql)
        .and_then(|scanner| scanner.get_expr_filter());
    match expr {
        Ok(Some(expr)) => expr.to_string(),
        _ => sql.split_whitespace().collect::<Vec<_>>().join(" "),
    }
}

/// The rows from `skip` on, and at most `fetch`.
pub fn limit(skip: usize, fetch: usize, input: Step) -> Step {
    // Such a large number means no limit.
    let fetch = match u64::try_from(fetch) {
        Ok(fetch) if fetch < i64::MAX as u64 => fetch.to_string(),
        _ => "None".to_string(),
    };
    Step::new(format!("GlobalLimitExec: skip={skip}, fetch={fetch}")).reads([input])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_one_operator_a_line() {
        let plan = limit(1, 5, Step::new("KNNVectorDistance: metric=l2"))
            .reads(Step::of_text("A: a=1\n  B: b=2\n    C\n  D\nE\n"));
        let lines = [
            "GlobalLimitExec: skip=1, fetch=5",
            "  KNNVectorDistance: metric=l2",
            "  A: a=1",
            "    B: b=2",
            "      C",
            "    D",
            "  E",
        ];
        assert_eq!(plan.explain(), lines.join("\n") + "\n");
    }

    #[test]
    fn an_analysis_has_metrics_on_each_line() {
        let read = Step::new("LanceRead: uri=t").measured(Some(Measured {
            rows: 3,
            time: Duration::from_micros(1_500),
        }));
        let analyzed = limit(0, usize::MAX, read).analyze();
        let lines = [
            "AnalyzeExec verbose=true, metrics=[]",
            "  GlobalLimitExec: skip=0, fetch=None, metrics=[]",
            "    LanceRead: uri=t, metrics=[output_rows=3, elapsed=1.5ms]",
        ];
        assert_eq!(analyzed, lines.join("\n") + "\n");
    }
}
