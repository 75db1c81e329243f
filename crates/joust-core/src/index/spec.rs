//! The create-index request of a client.

use arrow::datatypes::DataType;
use joust_text::analysis::Params;
use lance::Dataset;
use lance_core::datatypes::{Field, format_field_path};
use serde::Deserialize;

use super::kind::Kind;
use crate::error::{Code, Error, Result};
use crate::schema::columns::unknown_column;
use crate::text::{self, TextColumn};

/// The body of a create-index request. The LanceDB SDKs use `metric_type` for `distance_type` of the namespace
/// interface.
#[derive(Debug, Clone, Deserialize)]
pub struct Spec {
    pub column: String,
    pub index_type: String,
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default, alias = "metric_type")]
    pub distance_type: Option<String>,
    /// Replaces an index of that name instead of failing.
    #[serde(default)]
    pub replace: Option<bool>,

    #[serde(default)]
    pub num_partitions: Option<u32>,
    #[serde(default)]
    pub target_partition_size: Option<u32>,
    #[serde(default)]
    pub sample_rate: Option<u32>,
    #[serde(default)]
    pub max_iterations: Option<u32>,
    #[serde(default)]
    pub num_sub_vectors: Option<u32>,
    #[serde(default)]
    pub num_bits: Option<u32>,
    #[serde(default)]
    pub m: Option<u32>,
    #[serde(default)]
    pub ef_construction: Option<u32>,

    /// Bloom filter: rows per filter, and its false positive rate.
    #[serde(default)]
    pub number_of_items: Option<u64>,
    #[serde(default)]
    pub probability: Option<f64>,

    /// Documents in a posting block of a text index: 128 or 256.
    #[serde(default)]
    pub block_size: Option<u32>,

    /// Full-text parameters; absent ones have defaults.
    #[serde(flatten)]
    pub text: Params,
}

/// A spec that is valid for a table.
pub struct Resolved {
    pub kind: Kind,
    pub name: String,
    /// The column's path in the spelling of the schema; of a text index within JSON, the path within it.
    pub column: String,
    /// The path of the field.
    pub field: String,
    pub data_type: DataType,
}

impl Spec {
    pub fn decode(json: &str) -> Result<Self> {
        let mut deserializer = serde_json::Deserializer::from_str(json);
        serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
            let path = error.path().to_string();
            let message = match path.as_str() {
                "." => error.inner().to_string(),
                _ => format!("`{path}`: {}", error.inner()),
            };
            Error::invalid(format!("the index can't be read: {message}"))
        })
    }

    /// Resolves the column and checks that it supports this kind of index.
    pub fn resolve(&self, dataset: &Dataset) -> Result<Resolved> {
        let kind = match Kind::parse(&self.index_type)? {
            // joust's index needs row ids that survive rewrites; without them Lance's index is used.
            Kind::Text if !dataset.manifest().uses_stable_row_ids() => Kind::Inverted,
            // Posting blocks of joust's index have one size; Lance's index also supports the other.
            Kind::Text if self.block_size.is_some_and(|size| size != text::BLOCK_SIZE) => {
                Kind::Inverted
            }
            kind => kind,
        };
        let text_column = (kind == Kind::Text)
            .then(|| TextColumn::find(dataset, &self.column))
            .transpose()?;
        let field = text_column
            .as_ref()
            .map_or(&self.column, |text| &text.field);
        let path: Vec<&Field> = dataset
            .schema()
            .resolve_case_insensitive(field)
            .ok_or_else(|| unknown_column(dataset, &self.column))?;
        let names: Vec<&str> = path.iter().map(|field| field.name.as_str()).collect();
        let field = format_field_path(&names);
        let data_type = path
            .last()
            .map(|field| field.data_type())
            .ok_or_else(|| unknown_column(dataset, &self.column))?;
        let keys = text_column.as_ref().and_then(|text| text.keys.as_ref());
        if keys.is_none() {
            check_type(kind, &field, &data_type)?;
        }
        let name = match self.name.as_deref().map(str::trim) {
            None => {
                let keys = keys.into_iter().flatten().map(String::as_str);
                let parts: Vec<&str> = names.into_iter().chain(keys).collect();
                format!("{}_idx", parts.join("."))
            }
            Some("") => return Err(Error::invalid("the index's name is empty; leave it out")),
            Some(name) if name.starts_with("__lance") => {
                return Err(Error::invalid(format!(
                    "the index name `{name}` is reserved"
                )));
            }
            Some(name) => name.to_string(),
        };
        Ok(Resolved {
            kind,
            name,
            column: text_column.map_or_else(|| field.clone(), |text| text.name()),
            field,
            data_type,
        })
    }

    pub fn replaces(&self) -> bool {
        self.replace == Some(true)
    }
}

fn check_type(kind: Kind, column: &str, data_type: &DataType) -> Result<()> {
    use DataType as T;
    let is_text = |data_type: &DataType| matches!(data_type, T::Utf8 | T::LargeUtf8 | T::Utf8View);
    let is_list = match data_type {
        T::List(item) | T::LargeList(item) => !item.data_type().is_nested(),
        _ => false,
    };
    let (fits, wanted) = match kind {
        Kind::IvfFlat
        | Kind::IvfSq
        | Kind::IvfPq
        | Kind::IvfRq
        | Kind::IvfHnswFlat
        | Kind::IvfHnswSq
        | Kind::IvfHnswPq => (
            crate::schema::vector_column::is_vector(data_type),
            "a vector column (a fixed-size list of numbers)",
        ),
        Kind::LabelList => (is_list, "a list of single values"),
        Kind::Text => {
            let fits = match data_type {
                T::List(inner) | T::LargeList(inner) => is_text(inner.data_type()),
                other => is_text(other),
            };
            (fits, "a text column, a list of text or JSON")
        }
        Kind::Inverted => {
            let element_is_text = match data_type {
                T::List(inner) | T::LargeList(inner) => is_text(inner.data_type()),
                other => is_text(other) || matches!(other, T::LargeBinary),
            };
            (element_is_text, "a text column or a list of text")
        }
        Kind::NGram | Kind::Fm => (
            is_text(data_type)
                || (kind == Kind::Fm && matches!(data_type, T::Binary | T::LargeBinary)),
            "a text column",
        ),
        Kind::BTree | Kind::Bitmap | Kind::ZoneMap | Kind::BloomFilter => (
            !data_type.is_nested() || matches!(data_type, T::FixedSizeBinary(_)),
            "a column of single values",
        ),
    };
    if fits {
        return Ok(());
    }
    Err(Error::new(
        Code::InvalidInput,
        format!(
            "a {} index cannot be created on `{column}`: {} needs {wanted}, and the column is \
             {data_type}",
            kind.title(),
            kind.name()
        ),
    ))
}
