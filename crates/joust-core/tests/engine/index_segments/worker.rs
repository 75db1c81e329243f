//! A worker that builds segments with Lance in this process, as pylance does on Ray.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{Array, FixedSizeListArray, Float32Array};
use arrow::datatypes::{DataType, Field};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use joust_core::Table;
use joust_core::jobs::remote::{Order, Part, RemoteWork, Task};
use lance::Dataset;
use lance::dataset::builder::DatasetBuilder;
use lance::index::DatasetIndexExt;
use lance::index::vector::VectorIndexParams;
use lance_index::IndexType;
use lance_index::scalar::ScalarIndexParams;
use lance_index::vector::hnsw::builder::HnswBuildParams;
use lance_index::vector::ivf::IvfBuildParams;
use lance_linalg::distance::DistanceType;
use lance_table::format::IndexMetadata;
use serde_json::{Value, json};

use crate::orders::next_order;

/// Does all tasks of all orders. `between` runs with the number of each order, before its last task.
pub async fn work<F: Future<Output = ()>>(work: RemoteWork, between: impl Fn(u64) -> F) {
    let mut number = 0;
    loop {
        let order;
        (number, order) = next_order(&work, number).await;
        for (index, task) in order.tasks.iter().enumerate() {
            let part = part(&order, task).await;
            if index + 1 == order.tasks.len() {
                between(number).await;
            }
            work.deliver(part).await.unwrap();
        }
    }
}

pub async fn part(order: &Order, task: &Task) -> Part {
    let segment = build(order, task).await;
    Part {
        key: task.key.clone(),
        result: described(&segment),
    }
}

/// As `joust_worker` hands it over.
fn described(segment: &IndexMetadata) -> Value {
    let details = segment.index_details.as_ref().unwrap();
    let files = segment.files.iter().flatten();
    let fragments = segment.fragment_bitmap.as_ref().unwrap();
    json!({
        "uuid": segment.uuid,
        "fields": segment.fields,
        "dataset_version": segment.dataset_version,
        "fragments": fragments.iter().collect::<Vec<_>>(),
        "index_version": segment.index_version,
        "type_url": details.type_url,
        "details": STANDARD.encode(&details.value),
        "files": files
            .map(|file| json!({"path": file.path, "size": file.size_bytes}))
            .collect::<Vec<_>>(),
    })
}

async fn build(order: &Order, task: &Task) -> IndexMetadata {
    let arguments = &order.details["arguments"];
    let fragments: Vec<u32> = serde_json::from_value(task.details["fragments"].clone()).unwrap();
    let mut dataset: Dataset = DatasetBuilder::from_uri(&order.location)
        .with_version(order.version)
        .load()
        .await
        .unwrap();
    let (index_type, scalar) = match arguments["index_type"].as_str().unwrap() {
        "BTREE" => (IndexType::BTree, "btree"),
        "BITMAP" => (IndexType::Bitmap, "bitmap"),
        "LABEL_LIST" => (IndexType::LabelList, "labellist"),
        "NGRAM" => (IndexType::NGram, "ngram"),
        "ZONEMAP" => (IndexType::ZoneMap, "zonemap"),
        "BLOOMFILTER" => (IndexType::BloomFilter, "bloomfilter"),
        _ => (IndexType::Vector, ""),
    };
    let scalar = ScalarIndexParams::new(scalar.to_string());
    let columns = [arguments["column"].as_str().unwrap()];
    let vectors = (index_type == IndexType::Vector).then(|| vector_params(order));
    let mut builder = match &vectors {
        Some(vectors) => dataset.create_index_builder(&columns, index_type, vectors),
        None => dataset.create_index_builder(&columns, index_type, &scalar),
    };
    builder = builder
        .name(arguments["name"].as_str().unwrap().to_string())
        .replace(true)
        .fragments(fragments);
    builder.execute_uncommitted().await.unwrap()
}

fn vector_params(order: &Order) -> VectorIndexParams {
    let model = &order.details["model"];
    let bytes = STANDARD
        .decode(model["centroids"].as_str().unwrap())
        .unwrap();
    let numbers = bytes
        .chunks_exact(4)
        .map(|four| f32::from_le_bytes(four.try_into().unwrap()));
    let dimension = model["dimension"].as_i64().unwrap() as i32;
    let item = Arc::new(Field::new("item", DataType::Float32, true));
    let values = Arc::new(Float32Array::from_iter_values(numbers));
    let centroids = Arc::new(FixedSizeListArray::new(item, dimension, values, None));
    let ivf = IvfBuildParams::try_with_centroids(centroids.len(), centroids).unwrap();
    if order.details["arguments"]["index_type"] == "IVF_HNSW_FLAT" {
        return VectorIndexParams::ivf_hnsw(DistanceType::L2, ivf, HnswBuildParams::default());
    }
    VectorIndexParams::with_ivf_flat_params(DistanceType::L2, ivf)
}

/// The directories of indexes.
pub fn directories(location: &str) -> Vec<String> {
    let Ok(found) = std::fs::read_dir(PathBuf::from(location).join("_indices")) else {
        return Vec::new();
    };
    found
        .map(|one| one.unwrap().file_name().into_string().unwrap())
        .collect()
}

pub async fn uuids(table: &Table) -> Vec<String> {
    let found = table.list_indices(Default::default()).await.unwrap();
    found.into_iter().map(|index| index.uuid).collect()
}
