//! The functions that clients may call, and the size of their results.
//!
//! A function that is not listed is rejected. Deliberately omitted: `range` and `generate_series`, whose length is a
//! number; `array_transform`, `array_filter` and `array_any_match`, whose lambda may put the whole list into each of
//! its items.

/// The size of a result relative to the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Makes {
    /// A number, a date, a boolean, a checksum.
    Small,
    /// At most this many times its largest argument.
    Part(u64),
    /// All arguments together.
    All,
    /// Computed by [`size`](super::size).
    Sized(Sized),
    /// A number, from the n-th argument on a path into JSON.
    Path,
    /// A part of JSON, as text or JSON.
    JsonPart,
    /// A number; its time is the product of both lengths.
    Quadratic,
    /// A boolean; its time is the product of the lengths of two lists.
    Overlap,
    /// One value of all rows.
    Collected,
}

/// Functions that repeat one argument by another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sized {
    Replace,
    RegexpReplace,
    RegexpMatch,
    Regexp,
    /// `lpad(text, length, fill)`.
    Pad,
    /// `repeat(text, count)`, `array_repeat(value, count)`.
    Repeat,
    /// `array_resize(list, length, fill)`.
    Resize,
    /// `concat_ws(separator, …)`.
    Separated,
    /// `array_to_string(list, separator)`.
    Joined,
    /// `array_replace(list, from, to)`.
    ListReplace,
    /// `to_char(date, format)`.
    Format,
    /// `string_to_array(text, separator)`.
    Split,
    ArrowCast,
}

/// The context of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Over one table's rows, planned by Lance.
    Rows,
    /// In the SELECT of a view.
    View,
}

#[rustfmt::skip]
const SMALL: &[&str] = &[
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "cos",
    "cosh", "cot", "degrees", "exp", "factorial", "floor", "gcd", "isnan", "iszero", "lcm", "ln",
    "log", "log10", "log2", "nanvl", "pi", "pow", "power", "radians", "round", "signum", "sin",
    "sinh", "sqrt", "tan", "tanh", "trunc", "ascii", "bit_length", "char_length",
    "character_length", "chr", "contains", "contains_tokens", "ends_with", "find_in_set", "instr",
    "length", "octet_length", "position", "starts_with", "strpos", "to_hex", "version", "digest",
    "md5", "sha224", "sha256", "sha384", "sha512", "date_bin", "date_part", "datepart",
    "date_trunc", "datetrunc", "from_unixtime", "make_date", "make_time", "to_date",
    "to_local_time", "to_time", "to_timestamp", "to_timestamp_micros", "to_timestamp_millis",
    "to_timestamp_nanos", "to_timestamp_seconds", "to_unixtime", "array_contains", "array_dims",
    "array_distance", "array_empty", "array_has", "array_length", "array_ndims", "array_position",
    "cardinality", "cosine_distance", "dot_product", "empty", "inner_product", "list_contains",
    "list_cosine_distance", "list_dims", "list_distance", "list_dot_product", "list_empty",
    "list_has", "list_indexof", "list_inner_product", "list_length", "list_ndims", "list_position",
    "array_indexof", "arrow_typeof", "is_valid", "union_tag", "json_get_bool", "json_get_float",
    "json_get_int", "st_area", "st_contains", "st_coveredby", "st_covers", "st_crosses",
    "st_distance", "st_intersects", "st_length", "st_overlaps", "st_touches", "st_within",
];

/// Functions with a different value for each call or each query.
#[rustfmt::skip]
const VOLATILE: &[&str] = &[
    "current_date", "current_time", "current_timestamp", "now", "rand", "random", "today", "uuid",
];

#[rustfmt::skip]
const PART: &[&str] = &[
    "btrim", "decode", "left", "ltrim", "reverse", "right", "rtrim", "split_part", "substr",
    "substr_index", "substring", "substring_index", "trim", "coalesce", "greatest", "ifnull",
    "least", "nullif", "nvl", "nvl2", "array_any_value", "array_compact", "array_distinct",
    "array_element", "array_except", "array_extract", "array_intersect", "array_max", "array_min",
    "array_normalize", "array_pop_back", "array_pop_front", "array_positions", "array_remove",
    "array_remove_all", "array_remove_n", "array_reverse", "array_slice", "array_sort", "flatten",
    "list_any_value", "list_compact", "list_distinct", "list_element", "list_except",
    "list_extract", "list_intersect", "list_max", "list_min", "list_normalize", "list_pop_back",
    "list_pop_front", "list_positions", "list_remove", "list_remove_all", "list_remove_n",
    "list_reverse", "list_slice", "list_sort", "get_field", "element_at", "map_entries",
    "map_extract", "map_keys", "map_values", "union_extract", "_cast_list_f16", "json_get",
    "json_get_string",
];

#[rustfmt::skip]
const ALL: &[&str] = &[
    "array_append", "array_cat", "array_concat", "array_prepend", "array_push_back",
    "array_push_front", "array_union", "arrays_zip", "concat", "list_append", "list_cat",
    "list_concat", "list_prepend", "list_push_back", "list_push_front", "list_union", "list_zip",
    "make_array", "make_list", "make_map", "map", "named_struct", "overlay", "row", "struct",
];

/// Aggregates and window functions, which only a view can have.
#[rustfmt::skip]
const AGGREGATES: &[&str] = &[
    "approx_distinct", "approx_median", "approx_percentile_cont",
    "approx_percentile_cont_with_weight", "avg", "bit_and", "bit_or", "bit_xor", "bool_and",
    "bool_or", "corr", "count", "covar", "covar_pop", "covar_samp", "grouping", "mean", "median",
    "percentile_cont", "quantile_cont", "regr_avgx", "regr_avgy", "regr_count", "regr_intercept",
    "regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy", "stddev", "stddev_pop",
    "stddev_samp", "sum", "var", "var_pop", "var_population", "var_samp", "var_sample", "cume_dist",
    "dense_rank", "ntile", "percent_rank", "rank", "row_number",
];
const AGGREGATE_PARTS: &[&str] = &[
    "first_value",
    "lag",
    "last_value",
    "lead",
    "max",
    "min",
    "nth_value",
    "unnest",
];

/// The properties of a function, by its name in lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    pub makes: Makes,
    /// Equal arguments give equal values at any time.
    pub is_immutable: bool,
}

/// The function of a name, if clients may call it in this context.
pub fn find(name: &str, place: Place) -> Option<Known> {
    let is_in = |names: &[&str]| names.contains(&name);
    let sized = |sized| Some(Makes::Sized(sized));
    let makes = match name {
        // The other case of a letter may have more bytes, but no more on repetition.
        "initcap" | "lower" | "upper" => Some(Makes::Part(1)),
        // One byte may become four: a letter, or two digits.
        "translate" | "encode" => Some(Makes::Part(4)),
        "levenshtein" => Some(Makes::Quadratic),
        "array_has_all" | "array_has_any" | "arrays_overlap" | "list_has_all" | "list_has_any" => {
            Some(Makes::Overlap)
        }
        "replace" => sized(Sized::Replace),
        "regexp_replace" => sized(Sized::RegexpReplace),
        "regexp_match" => sized(Sized::RegexpMatch),
        "regexp_like" | "regexp_count" | "regexp_instr" => sized(Sized::Regexp),
        "lpad" | "rpad" => sized(Sized::Pad),
        "repeat" | "array_repeat" | "list_repeat" => sized(Sized::Repeat),
        "array_resize" | "list_resize" => sized(Sized::Resize),
        "concat_ws" => sized(Sized::Separated),
        "array_to_string" | "list_to_string" | "array_join" | "list_join" => sized(Sized::Joined),
        "array_replace" | "array_replace_all" | "array_replace_n" | "list_replace"
        | "list_replace_all" | "list_replace_n" => sized(Sized::ListReplace),
        "to_char" | "date_format" => sized(Sized::Format),
        "string_to_array" | "string_to_list" => sized(Sized::Split),
        "arrow_cast" | "arrow_try_cast" => sized(Sized::ArrowCast),
        "json_array_contains" | "json_array_length" | "json_exists" => Some(Makes::Path),
        "json_extract" | "json_extract_with_type" => Some(Makes::JsonPart),
        "array_agg" | "string_agg" | "listagg" if place == Place::View => Some(Makes::Collected),
        _ if is_in(SMALL) || is_in(VOLATILE) => Some(Makes::Small),
        _ if is_in(PART) => Some(Makes::Part(1)),
        _ if is_in(ALL) => Some(Makes::All),
        _ if place == Place::View && is_in(AGGREGATES) => Some(Makes::Small),
        _ if place == Place::View && is_in(AGGREGATE_PARTS) => Some(Makes::Part(1)),
        _ => None,
    };
    makes.map(|makes| Known {
        makes,
        is_immutable: !is_in(VOLATILE),
    })
}

#[cfg(test)]
mod tests {
    use datafusion::logical_expr::Volatility;
    use datafusion::prelude::SessionContext;
    use lance_datafusion::exec::{LanceExecutionOptions, get_session_context};

    use super::*;
    use crate::sql;

    /// Omitted functions of DataFusion, each with the reason.
    const LEFT_OUT: &[&str] = &[
        // The length is a number.
        "generate_series",
        "range",
        // Lambdas.
        "array_transform",
        "list_transform",
        "array_filter",
        "list_filter",
        "array_any_match",
        "any_match",
        "list_any_match",
        // Metadata of columns, which conditions do not need.
        "arrow_field",
        "arrow_metadata",
        "with_metadata",
        // Casts to the type of another value.
        "cast_to_type",
        "try_cast_to_type",
    ];

    fn sessions() -> [(Place, SessionContext); 2] {
        let lance = get_session_context(&LanceExecutionOptions::default());
        [
            (Place::Rows, lance),
            (
                Place::View,
                sql::session::new(1, 64 << 20, 64 << 20).unwrap(),
            ),
        ]
    }

    #[test]
    fn every_function_of_a_session_is_listed_or_left_out() {
        for (place, session) in sessions() {
            let state = session.state();
            let mut scalar: Vec<&String> = state.scalar_functions().keys().collect();
            if place == Place::View {
                scalar.extend(state.aggregate_functions().keys());
                scalar.extend(state.window_functions().keys());
            }
            let unknown: Vec<&&String> = scalar
                .iter()
                .filter(|name| find(name, place).is_none() && !LEFT_OUT.contains(&name.as_str()))
                .collect();
            assert!(unknown.is_empty(), "{place:?}: {unknown:?}");
        }
    }

    #[test]
    fn volatility_is_datafusions() {
        for (place, session) in sessions() {
            let state = session.state();
            for (name, function) in state.scalar_functions() {
                let Some(known) = find(name, place) else {
                    continue;
                };
                let immutable = function.signature().volatility == Volatility::Immutable;
                assert_eq!(known.is_immutable, immutable, "{name}");
            }
        }
    }

    #[test]
    fn aggregates_are_for_views() {
        for name in ["sum", "count", "array_agg", "row_number", "max"] {
            assert!(find(name, Place::Rows).is_none(), "{name}");
            assert!(find(name, Place::View).is_some(), "{name}");
        }
    }
}
