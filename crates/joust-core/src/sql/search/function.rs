//! The functions and their arguments.

use datafusion::sql::sqlparser::tokenizer::Token;
use serde_json::{Map, Value, json};

use super::call::Call;
use crate::error::{Code, Error, Result};
use crate::names::short;
use crate::query::Query;

/// The most rows that a search returns.
const MAX_K: u64 = 10_000;
const DEFAULT_K: u64 = 10;
/// The most numbers in the vectors of a search.
const MAX_NUMBERS: usize = 1 << 16;

/// Options of a search by vector: members of a query's body.
const OF_VECTORS: &[&str] = &[
    "distance_type",
    "nprobes",
    "minimum_nprobes",
    "maximum_nprobes",
    "search_effort",
    "approx_mode",
    "refine_factor",
    "ef",
    "lower_bound",
    "upper_bound",
    "bypass_vector_index",
];
/// Options of every search.
const OF_ALL: &[&str] = &["fast_search"];
/// Options of the fusion of two searches: members of `hybrid`.
const OF_FUSION: &[&str] = &["method", "rank_constant", "vector_weight"];

/// A table function that searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    Vector,
    Text,
    Hybrid,
}

impl Function {
    /// The function that a word names.
    pub fn of_token(token: &Token) -> Option<Self> {
        let Token::Word(word) = token else {
            return None;
        };
        let mut all = [Self::Vector, Self::Text, Self::Hybrid].into_iter();
        all.find(|own| word.quote_style.is_none() && word.value.eq_ignore_ascii_case(own.name()))
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Vector => "vector_search",
            Self::Text => "text_search",
            Self::Hybrid => "hybrid_search",
        }
    }

    /// The arguments that need no name, in their order.
    fn positional(self) -> &'static [&'static str] {
        match self {
            Self::Vector => &["table", "vector_column", "vector", "k"],
            Self::Text => &["table", "query", "k", "columns"],
            Self::Hybrid => &["table", "vector_column", "vector", "query", "k", "columns"],
        }
    }

    /// The arguments that need a name.
    fn options(self) -> impl Iterator<Item = &'static str> {
        let lists: &[&[&str]] = match self {
            Self::Vector => &[OF_VECTORS, OF_ALL],
            Self::Text => &[OF_ALL],
            Self::Hybrid => &[OF_VECTORS, OF_ALL, OF_FUSION],
        };
        lists.iter().copied().flatten().copied()
    }

    /// The name of the table to search, and the query.
    pub fn query(self, call: Call) -> Result<(String, Query)> {
        let mut arguments = self.bind(call)?;
        let table = match arguments.remove("table") {
            Some(Value::String(name)) => name,
            _ => {
                return Err(self
                    .invalid("the first argument is the name of a table as text: 't' or 'ns.t'"));
            }
        };
        let mut body = Map::new();
        body.insert("k".to_string(), self.k(arguments.remove("k"))?.into());
        if self != Self::Text {
            let vector = self.vector(arguments.remove("vector"))?;
            body.insert("vector".to_string(), vector);
            let column = self.text(&mut arguments, "vector_column")?;
            body.insert("vector_column".to_string(), column.into());
        }
        if self != Self::Vector {
            let Some(words) = self.text(&mut arguments, "query")? else {
                return Err(self.invalid("the words to search for are missing: give a text"));
            };
            let columns = self.columns(arguments.remove("columns"))?;
            let words = json!({ "query": words, "columns": columns });
            body.insert("full_text_query".to_string(), words);
        }
        if self == Self::Hybrid {
            let fusion = OF_FUSION
                .iter()
                .filter_map(|name| arguments.remove_entry(*name));
            let fusion: Map<String, Value> = fusion.collect();
            body.insert("hybrid".to_string(), fusion.into());
        }
        body.extend(arguments);
        // The columns of the table are read by their row ids.
        body.insert("columns".to_string(), json!([]));
        body.insert("with_row_id".to_string(), true.into());
        let query = Query::decode(Value::from(body).to_string().as_bytes());
        let query = query.map_err(|error| self.error(error.code(), error.message()))?;
        Ok((table, query))
    }

    /// The arguments by their names, without those that are null.
    fn bind(self, call: Call) -> Result<Map<String, Value>> {
        let names = self.positional();
        if call.positional.len() > names.len() {
            return Err(self.invalid(&format!(
                "only {} arguments need no name: {}; give others by their names, such as \
                 fast_search => true",
                names.len(),
                names.join(", ")
            )));
        }
        let positional = names.iter().map(ToString::to_string).zip(call.positional);
        let mut arguments = Map::new();
        for (name, value) in positional.chain(call.named) {
            let is_known =
                names.contains(&name.as_str()) || self.options().any(|option| option == name);
            if !is_known {
                let known: Vec<&str> = names.iter().copied().chain(self.options()).collect();
                return Err(self.invalid(&format!(
                    "there is no argument `{}`; there are {}",
                    short(&name),
                    known.join(", ")
                )));
            }
            if arguments.insert(name.clone(), value).is_some() {
                return Err(self.invalid(&format!("the argument `{name}` is there twice")));
            }
        }
        if arguments.get("vector").is_some_and(Value::is_null) {
            return Err(self.invalid("the query vector is null; give a list of numbers"));
        }
        arguments.retain(|_, value| !value.is_null());
        Ok(arguments)
    }

    fn k(self, value: Option<Value>) -> Result<u64> {
        let k = value.map_or(Some(DEFAULT_K), |value| value.as_u64());
        k.filter(|k| (1..=MAX_K).contains(k)).ok_or_else(|| {
            self.invalid(&format!(
                "k, the number of rows, is a whole number from 1 to {MAX_K}"
            ))
        })
    }

    /// A list of numbers, or a list of such lists.
    fn vector(self, value: Option<Value>) -> Result<Value> {
        let Some(Value::Array(items)) = value else {
            return Err(self.invalid("the query vector is missing: give a list of numbers"));
        };
        let are_lists = items.first().is_some_and(Value::is_array);
        let numbers: Vec<&Value> = match are_lists {
            true => items.iter().filter_map(Value::as_array).flatten().collect(),
            false => items.iter().collect(),
        };
        let is_whole = items.iter().all(|item| item.is_array() == are_lists);
        if numbers.is_empty() || !is_whole || !numbers.iter().all(|number| number.is_number()) {
            return Err(self.invalid("the query vector is a list of numbers and not empty"));
        }
        if numbers.len() > MAX_NUMBERS {
            return Err(self.invalid(&format!(
                "the query vector has {} numbers; it may have {MAX_NUMBERS}",
                numbers.len()
            )));
        }
        Ok(Value::Array(items))
    }

    fn text(self, arguments: &mut Map<String, Value>, name: &str) -> Result<Option<String>> {
        match arguments.remove(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.invalid(&format!("`{name}` is a text"))),
        }
    }

    /// Columns of a text search; `None`: all that have an index.
    fn columns(self, value: Option<Value>) -> Result<Option<Value>> {
        match value {
            None => Ok(None),
            Some(Value::String(column)) => Ok(Some(json!([column]))),
            Some(Value::Array(columns)) if columns.iter().all(Value::is_string) => {
                Ok(Some(columns.into()))
            }
            Some(_) => Err(self.invalid("`columns` is a text, or a list of texts")),
        }
    }

    fn invalid(self, message: &str) -> Error {
        self.error(Code::InvalidInput, message)
    }

    /// An error that names the function.
    pub fn error(self, code: Code, message: &str) -> Error {
        Error::new(code, format!("{}: {message}", self.name()))
    }
}
