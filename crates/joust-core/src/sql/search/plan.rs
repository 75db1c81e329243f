//! Searches in the plans of a statement.

/// The plan of a search.
pub struct SearchPlan {
    /// The name in its place.
    pub name: String,
    pub function: &'static str,
    /// Its steps, a line each.
    pub steps: String,
}

/// The operator of a search, before its plan is known.
pub fn operator(name: &str) -> String {
    format!("SearchExec: {name}")
}

/// A plan of a statement with the plans of its searches below their operators.
pub fn with_searches(plan: &str, searches: &[SearchPlan]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in plan.lines() {
        lines.push(line.to_string());
        let step = line.trim_start();
        let search = searches
            .iter()
            .find(|search| step.starts_with(&operator(&search.name)));
        let indent = line.len() - step.len() + 2;
        let below = search.iter().flat_map(|search| search.steps.lines());
        lines.extend(below.map(|step| format!("{:indent$}{step}", "")));
    }
    let plan = lines.join("\n") + "\n";
    searches.iter().fold(plan, |plan, search| {
        plan.replace(&search.name, search.function)
    })
}
