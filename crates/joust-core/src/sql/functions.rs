//! The functions that statements may call, by subject.

use datafusion::logical_expr::ScalarUDF;

use super::session;
use crate::error::Result;
use crate::schema::expression;

/// Names of scalar functions, sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Functions {
    pub numeric: Vec<String>,
    pub string: Vec<String>,
    pub datetime: Vec<String>,
    /// Those of any type: of nulls and types.
    pub system: Vec<String>,
}

/// The functions of DataFusion that clients may call. Those of lists, structs, maps and JSON have no subject.
pub fn functions() -> Result<Functions> {
    let mut functions = Functions::default();
    for function in session::for_planning()?.state().scalar_functions().values() {
        let names = match subject(function) {
            "Math Functions" => &mut functions.numeric,
            "String Functions"
            | "Binary String Functions"
            | "Regular Expression Functions"
            | "Hashing Functions" => &mut functions.string,
            "Time and Date Functions" => &mut functions.datetime,
            "Conditional Functions" | "Other Functions" => &mut functions.system,
            _ => continue,
        };
        let aliases = function.aliases().iter().map(String::as_str);
        let all = std::iter::once(function.name()).chain(aliases);
        let available = all.filter(|name| expression::is_available(name));
        names.extend(available.map(str::to_string));
    }
    for names in [
        &mut functions.numeric,
        &mut functions.string,
        &mut functions.datetime,
        &mut functions.system,
    ] {
        names.sort();
        // A function is registered under each of its names.
        names.dedup();
    }
    Ok(functions)
}

/// The section of DataFusion's documentation that the function is in.
fn subject(function: &ScalarUDF) -> &str {
    let documentation = function.documentation();
    documentation.map_or("", |found| found.doc_section.label)
}
