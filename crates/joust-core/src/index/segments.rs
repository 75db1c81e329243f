//! Indexes that other processes build in segments, each over some fragments: which kinds, and in which terms.
//!
//! Those processes use pylance. `docs/design/ray.md` says what was measured.

use arrow::datatypes::DataType;
use lance::Dataset;
use lance::index::DatasetIndexExt;
use lance::index::vector::{StageParams, VectorIndexParams};
use lance_index::IndexParams;
use lance_index::scalar::{InvertedIndexParams, ScalarIndexParams};
use lance_linalg::distance::DistanceType;
use lance_table::format::IndexMetadata;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::kind::Kind;
use super::params::build_params;
use super::spec::{Resolved, Spec};
use crate::error::{Error, Result};
use crate::text;

/// What becomes of the segments of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Assembly {
    /// Lance copies them into one.
    Merged,
    /// They stay, and a search visits each: a merge would take as long as a build of the whole index.
    Kept,
}

/// `None`: one process has to build an index of that kind.
fn assembly(kind: Kind) -> Option<Assembly> {
    match kind {
        Kind::IvfFlat
        | Kind::IvfPq
        | Kind::IvfRq
        | Kind::BTree
        | Kind::Bitmap
        | Kind::LabelList
        | Kind::NGram
        | Kind::ZoneMap
        | Kind::BloomFilter
        | Kind::Inverted => Some(Assembly::Merged),
        Kind::IvfHnswFlat | Kind::IvfHnswPq => Some(Assembly::Kept),
        // Each segment of a scalar quantizer has bounds of its own, and a merge keeps those of the first.
        Kind::IvfSq | Kind::IvfHnswSq => None,
        // pylance has no call for it, and a merge takes as long as a build.
        Kind::Fm => None,
        // The format is joust's own, which pylance does not know.
        Kind::Text => None,
    }
}

/// How segments of an index are built.
pub(crate) struct SegmentPlan {
    pub target: Resolved,
    pub assembly: Assembly,
    /// The arguments of pylance.
    pub arguments: Arguments,
    /// Of a vector index: its segments need a common model.
    pub vectors: Option<VectorIndexParams>,
    params: (lance_index::IndexType, Box<dyn IndexParams>),
}

/// The arguments of pylance's `create_index_uncommitted`.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Arguments {
    pub name: String,
    pub column: String,
    pub index_type: &'static str,
    /// Further keyword arguments.
    pub options: Map<String, Value>,
    /// The parameters of an `IndexConfig`.
    pub config: Option<Value>,
}

impl SegmentPlan {
    /// `None`: one process has to build the index.
    pub async fn of(dataset: &Dataset, spec: &Spec, target: Resolved) -> Result<Option<Self>> {
        let Some(assembly) = assembly(target.kind) else {
            return Ok(None);
        };
        if !is_known_to_pylance(&target) || has_moved_rows(dataset).await? {
            return Ok(None);
        }
        let params = build_params(spec, &target)?;
        let vectors = params.1.as_any().downcast_ref::<VectorIndexParams>();
        let vectors = vectors.cloned();
        let options = match (&vectors, target.kind) {
            (Some(vectors), _) => vector_options(vectors),
            // pylance wants it beside the parameters.
            (None, Kind::Inverted) => {
                Map::from_iter([("document_granularity".into(), "row".into())])
            }
            (None, _) => Map::new(),
        };
        Ok(Some(Self {
            assembly,
            arguments: Arguments {
                name: target.name.clone(),
                column: target.column.clone(),
                index_type: pylance_name(target.kind),
                options,
                config: config(params.1.as_ref())?,
            },
            target,
            vectors,
            params,
        }))
    }

    /// The entry of the index without rows, from which each segment takes its type and its parameters.
    pub async fn definition(&self, dataset: &Dataset) -> Result<IndexMetadata> {
        // Without rows Lance warns about a number of partitions.
        let untrained = self.vectors.clone().map(|mut params| {
            for stage in &mut params.stages {
                if let StageParams::Ivf(ivf) = stage {
                    ivf.num_partitions = None;
                }
            }
            params
        });
        let (index_type, params) = &self.params;
        let params: &dyn IndexParams = match &untrained {
            Some(params) => params,
            None => params.as_ref(),
        };
        let mut copy = dataset.clone();
        let columns = [self.target.column.as_str()];
        let definition = copy
            .create_index_builder(&columns, *index_type, params)
            .name(self.target.name.clone())
            .replace(true)
            .train(false)
            .execute_uncommitted()
            .await
            .map_err(Error::of_input)?;
        text::remove_segment(dataset, definition.uuid).await;
        Ok(definition)
    }
}

/// The parameters of a scalar index, if there are any.
fn config(params: &dyn IndexParams) -> Result<Option<Value>> {
    let params = params.as_any();
    let config = if let Some(text) = params.downcast_ref::<InvertedIndexParams>() {
        serde_json::to_value(text).map(Some)
    } else {
        let scalar = params.downcast_ref::<ScalarIndexParams>();
        let config = scalar.and_then(|scalar| scalar.params.as_deref());
        config.map(serde_json::from_str).transpose()
    };
    config
        .map_err(|error| Error::internal("the parameters of the index could not be written", error))
}

fn pylance_name(kind: Kind) -> &'static str {
    match kind {
        Kind::BloomFilter => "BLOOMFILTER",
        other => other.name(),
    }
}

/// Whether pylance builds an index on such a column.
fn is_known_to_pylance(target: &Resolved) -> bool {
    use DataType as T;
    // The two quote other names in different ways.
    if target.column.contains('`') {
        return false;
    }
    if target.kind.is_vector() {
        return matches!(&target.data_type, T::FixedSizeList(item, _)
            if matches!(item.data_type(), T::Float16 | T::Float32 | T::Float64));
    }
    match target.kind {
        Kind::BTree | Kind::Bitmap => matches!(
            target.data_type,
            T::Boolean
                | T::Int8
                | T::Int16
                | T::Int32
                | T::Int64
                | T::UInt8
                | T::UInt16
                | T::UInt32
                | T::UInt64
                | T::Float16
                | T::Float32
                | T::Float64
                | T::Utf8
                | T::LargeUtf8
                | T::Date32
                | T::Date64
                | T::Timestamp(..)
                | T::Decimal128(..)
                | T::FixedSizeBinary(_)
        ),
        Kind::Inverted => !matches!(target.data_type, T::LargeBinary),
        _ => true,
    }
}

/// Whether the table has rows that Lance finds through a record of moved rows, or values beside the files of columns.
async fn has_moved_rows(dataset: &Dataset) -> Result<bool> {
    let entries = text::all_entries(dataset).await?;
    let has_overlays = |fragment: &lance_table::format::Fragment| !fragment.overlays.is_empty();
    Ok(entries.iter().any(|one| one.name.starts_with("__lance"))
        || dataset.fragments().iter().any(has_overlays))
}

fn vector_options(params: &VectorIndexParams) -> Map<String, Value> {
    let metric = match params.metric_type {
        DistanceType::L2 => "l2",
        DistanceType::Cosine => "cosine",
        DistanceType::Dot => "dot",
        DistanceType::Hamming => "hamming",
    };
    let mut options = Map::new();
    let mut set = |name: &str, value: Value| {
        options.insert(name.into(), value);
    };
    set("metric", metric.into());
    for stage in &params.stages {
        match stage {
            StageParams::Ivf(_) => {}
            StageParams::Hnsw(hnsw) => {
                set("m", json!(hnsw.m));
                set("ef_construction", json!(hnsw.ef_construction));
            }
            StageParams::PQ(pq) => {
                set("num_sub_vectors", json!(pq.num_sub_vectors));
                set("num_bits", json!(pq.num_bits));
            }
            StageParams::SQ(sq) => set("num_bits", json!(sq.num_bits)),
            StageParams::RQ(rq) => set("num_bits", json!(rq.num_bits)),
        }
    }
    options
}
