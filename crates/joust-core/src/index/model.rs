//! The model that the segments of a vector index share: centroids, and the codebook or the rotation of its codes.

use std::sync::Arc;

use arrow::array::{Array, ArrayData, FixedSizeListArray};
use arrow::datatypes::{DataType, Float32Type};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lance::Dataset;
use lance::index::vector::ivf::build_ivf_model;
use lance::index::vector::pq::build_pq_model;
use lance::index::vector::{StageParams, VectorIndexParams};
use lance_index::vector::bq::builder::RabitQuantizer;
use lance_index::vector::ivf::IvfBuildParams;
use lance_index::vector::ivf::builder::recommended_num_partitions;
use serde::Serialize;

use super::progress::Reporter;
use super::spec::Resolved;
use crate::error::{Code, Error, Result};
use crate::schema::vector_column::vector_element;
use crate::work::WorkContext;

/// A trained model, as pylance needs it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Model {
    /// The name of the type in numpy.
    data_type: &'static str,
    dimension: usize,
    /// Base64 of the numbers of all centroids, in the byte order of the processor: little endian.
    centroids: String,
    /// The same of the codebook of a product quantizer.
    codebook: Option<String>,
    /// JSON text of the rotation of a RaBit quantizer.
    rotation: Option<String>,
}

/// Whether the table has too few rows for so many partitions. Then Lance chooses another number.
pub(crate) fn has_few_rows(rows: usize, params: &VectorIndexParams) -> bool {
    let Some(ivf) = ivf(params) else {
        return true;
    };
    let needed = ivf
        .num_partitions
        .unwrap_or(1)
        .saturating_mul(ivf.sample_rate);
    rows < needed
}

/// About the size of the model in an order.
pub(crate) fn model_bytes(rows: usize, target: &Resolved, params: &VectorIndexParams) -> usize {
    let Some((element, dimension)) = vector_element(&target.data_type) else {
        return 0;
    };
    let vectors = ivf(params).map_or(0, |ivf| partitions(rows, ivf, params));
    let codes = match params.stages.last() {
        Some(StageParams::PQ(pq)) => 1 << pq.num_bits,
        _ => 0,
    };
    let vector = dimension.saturating_mul(element.primitive_width().unwrap_or(1));
    // Four characters of base64 are three bytes.
    (vectors + codes).saturating_mul(vector) / 3 * 4
}

fn partitions(rows: usize, ivf: &IvfBuildParams, params: &VectorIndexParams) -> usize {
    let size = ivf.target_partition_size;
    let size = size.unwrap_or_else(|| params.index_type().target_partition_size());
    ivf.num_partitions
        .unwrap_or_else(|| recommended_num_partitions(rows, size))
}

/// Trains with a sample of the whole table.
pub(crate) async fn train(
    dataset: &Dataset,
    target: &Resolved,
    params: &VectorIndexParams,
    work: &WorkContext,
) -> Result<Model> {
    let (element, dimension) = vector_element(&target.data_type)
        .ok_or_else(|| Error::invalid(format!("`{}` holds no vectors", target.column)))?;
    let missing = || {
        Error::new(
            Code::Internal,
            "the model of a vector index has no centroids",
        )
    };
    let mut ivf = ivf(params).cloned().ok_or_else(missing)?;
    let rows = dataset.count_rows(None).await?;
    ivf.num_partitions = Some(partitions(rows, &ivf, params));
    let (column, metric) = (&target.column, params.metric_type);
    let progress = Arc::new(Reporter::new(work.clone()));
    let trained = build_ivf_model(dataset, column, dimension, metric, &ivf, None, progress)
        .await
        .map_err(Error::of_input)?;
    let centroids = trained.centroids.as_ref().ok_or_else(missing)?;
    let mut model = Model {
        data_type: numpy_name(&element)?,
        dimension,
        centroids: numbers(centroids, &element)?,
        codebook: None,
        rotation: None,
    };
    match params.stages.last() {
        Some(StageParams::PQ(pq)) => {
            work.report("train_quantizer", 0, None);
            let pq = build_pq_model(dataset, column, dimension, metric, pq, Some(&trained))
                .await
                .map_err(Error::of_input)?;
            model.codebook = Some(numbers(&pq.codebook, &element)?);
        }
        Some(StageParams::RQ(rq)) => {
            // The type of the numbers is of no consequence for this rotation.
            let rotation = RabitQuantizer::new_with_rotation::<Float32Type>(
                rq.num_bits,
                dimension as i32,
                rq.rotation_type,
            );
            let rotation = serde_json::to_string(rotation.metadata_ref());
            model.rotation = Some(rotation.map_err(unwritable)?);
        }
        _ => {}
    }
    Ok(model)
}

fn ivf(params: &VectorIndexParams) -> Option<&IvfBuildParams> {
    params.stages.iter().find_map(|stage| match stage {
        StageParams::Ivf(ivf) => Some(ivf),
        _ => None,
    })
}

fn numpy_name(element: &DataType) -> Result<&'static str> {
    match element {
        DataType::Float16 => Ok("float16"),
        DataType::Float32 => Ok("float32"),
        DataType::Float64 => Ok("float64"),
        other => Err(Error::invalid(format!(
            "vectors of {other} have no model that workers can use"
        ))),
    }
}

/// Base64 of the numbers of vectors, in the type of the column.
fn numbers(vectors: &FixedSizeListArray, element: &DataType) -> Result<String> {
    let values = arrow::compute::cast(vectors.values(), element)?;
    let data: ArrayData = values.to_data();
    let width = element.primitive_width().unwrap_or(1);
    let bytes = data.buffers().first().map_or(&[][..], |buffer| {
        &buffer.as_slice()[data.offset() * width..][..values.len() * width]
    });
    Ok(STANDARD.encode(bytes))
}

fn unwritable(error: serde_json::Error) -> Error {
    Error::internal("the model of a vector index could not be written", error)
}
