//! What an expression makes of the length of its operands.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
};

/// Functions whose result holds each argument once; so do those that begin with `array_` or `list_`.
const JOINING: &[&str] = &[
    "concat",
    "make_array",
    "make_list",
    "struct",
    "row",
    "named_struct",
    "map",
    "make_map",
    "overlay",
    "arrays_zip",
];
/// Functions that repeat one argument as often as others say: a separator, or a replacement.
const REPEATING: &[&str] = &[
    "concat_ws",
    "replace",
    "regexp_replace",
    "array_to_string",
    "list_to_string",
    "array_join",
    "list_join",
    "array_replace",
    "list_replace",
    "array_replace_n",
    "list_replace_n",
    "array_replace_all",
    "list_replace_all",
];
/// Two of them in one another are beyond the limit.
const REPEATING_FACTOR: u64 = 16;
/// Aggregates that hold all rows in one value.
const COLLECTING: &[&str] = &["array_agg", "string_agg", "listagg"];
const COLLECTING_FACTOR: u64 = 8;
/// Their lambda may put the whole list into each of its items.
const UNAVAILABLE: &[&str] = &["array_transform", "list_transform"];

/// How long a value may be beside those that it is made of; what is inside of those is not looked at.
pub enum Growth {
    /// As long as one of them.
    None,
    /// As long as so many together.
    Joins(usize),
    /// So many times as long.
    Repeats(u64),
    /// Any length, and what to tell.
    Unbounded(String),
}

/// See [`Growth`]. Literals are no operands: they are as long as the query at most.
pub fn growth(expr: &Expr) -> Growth {
    match expr {
        Expr::Function(function) => of_call(function),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::StringConcat,
            right,
        } if !is_literal(left) && !is_literal(right) => Growth::Joins(2),
        Expr::Array(array) => Growth::Joins(not_literal(&array.elem)),
        Expr::Tuple(values) | Expr::Struct { values, .. } => Growth::Joins(not_literal(values)),
        Expr::Dictionary(fields) => Growth::Joins(fields.len()),
        Expr::Map(map) => Growth::Joins(map.entries.len()),
        Expr::Overlay { .. } => Growth::Joins(2),
        _ => Growth::None,
    }
}

fn of_call(function: &Function) -> Growth {
    let name = function.name.0.last().and_then(|part| part.as_ident());
    let name = name
        .map(|name| name.value.to_ascii_lowercase())
        .unwrap_or_default();
    let name = name.as_str();
    let args: &[FunctionArg] = match &function.args {
        FunctionArguments::List(list) => &list.args,
        _ => &[],
    };
    if UNAVAILABLE.contains(&name) {
        Growth::Unbounded(format!("the function `{name}` is not available in views"))
    } else if COLLECTING.contains(&name) && function.over.is_some() {
        Growth::Unbounded(format!(
            "`{name}` with OVER would put all rows into each row; use it with GROUP BY"
        ))
    } else if COLLECTING.contains(&name) {
        Growth::Repeats(COLLECTING_FACTOR)
    } else if REPEATING.contains(&name) {
        Growth::Repeats(REPEATING_FACTOR.max(args.len() as u64))
    } else if JOINING.contains(&name) || name.starts_with("array_") || name.starts_with("list_") {
        Growth::Joins(args.iter().filter(|arg| !is_literal_argument(arg)).count())
    } else {
        Growth::None
    }
}

fn not_literal(values: &[Expr]) -> usize {
    values.iter().filter(|value| !is_literal(value)).count()
}

fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Value(_) => true,
        Expr::UnaryOp { expr, .. } => matches!(expr.as_ref(), Expr::Value(_)),
        _ => false,
    }
}

fn is_literal_argument(argument: &FunctionArg) -> bool {
    matches!(
        argument,
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) if is_literal(expr)
    )
}
