//! Converts a spec to Lance's build parameters.

use arrow::datatypes::DataType;
use lance::index::vector::VectorIndexParams;
use lance_index::IndexParams;
use lance_index::IndexType;
use lance_index::scalar::{InvertedIndexParams, ScalarIndexParams};
use lance_index::vector::bq::RQBuildParams;
use lance_index::vector::hnsw::builder::HnswBuildParams;
use lance_index::vector::ivf::IvfBuildParams;
use lance_index::vector::pq::PQBuildParams;
use lance_index::vector::sq::builder::SQBuildParams;
use lance_linalg::distance::DistanceType;
use serde_json::{Map, Value, json};

use super::kind::Kind;
use super::spec::{Resolved, Spec};
use crate::error::{Code, Error, Result};
use crate::schema::vector_column::{distance_type, vector_element};

/// Lance's type and parameters for a spec.
pub fn build_params(spec: &Spec, target: &Resolved) -> Result<(IndexType, Box<dyn IndexParams>)> {
    use VectorIndexParams as V;
    let scalar = |name: &str, params: Option<Value>| {
        let mut built = ScalarIndexParams::new(name.to_string());
        if let Some(params) = params {
            built = built.with_params(&params);
        }
        Box::new(built) as Box<dyn IndexParams>
    };
    let of_vectors = |params: VectorIndexParams| -> (IndexType, Box<dyn IndexParams>) {
        (IndexType::Vector, Box::new(params))
    };
    let vectors = || vectors(spec, target);
    Ok(match target.kind {
        Kind::IvfFlat => {
            let v = vectors()?;
            of_vectors(V::with_ivf_flat_params(v.distance, v.ivf))
        }
        Kind::IvfSq => {
            let v = vectors()?;
            of_vectors(V::with_ivf_sq_params(v.distance, v.ivf, sq(spec)?))
        }
        Kind::IvfPq => {
            let v = vectors()?;
            let pq = pq(spec, v.dimension)?;
            of_vectors(V::with_ivf_pq_params(v.distance, v.ivf, pq))
        }
        Kind::IvfRq => {
            let v = vectors()?;
            of_vectors(V::with_ivf_rq_params(v.distance, v.ivf, rq(spec)?))
        }
        Kind::IvfHnswFlat => {
            let v = vectors()?;
            of_vectors(V::ivf_hnsw(v.distance, v.ivf, hnsw(spec)?))
        }
        Kind::IvfHnswSq => {
            let v = vectors()?;
            let (hnsw, sq) = (hnsw(spec)?, sq(spec)?);
            of_vectors(V::with_ivf_hnsw_sq_params(v.distance, v.ivf, hnsw, sq))
        }
        Kind::IvfHnswPq => {
            let v = vectors()?;
            let (hnsw, pq) = (hnsw(spec)?, pq(spec, v.dimension)?);
            of_vectors(V::with_ivf_hnsw_pq_params(v.distance, v.ivf, hnsw, pq))
        }
        Kind::BTree => (IndexType::BTree, scalar("btree", None)),
        Kind::Bitmap => (IndexType::Bitmap, scalar("bitmap", None)),
        Kind::LabelList => (IndexType::LabelList, scalar("labellist", None)),
        Kind::NGram => (IndexType::NGram, scalar("ngram", None)),
        Kind::ZoneMap => (IndexType::ZoneMap, scalar("zonemap", None)),
        Kind::Fm => (IndexType::Fm, scalar("fm", None)),
        Kind::BloomFilter => (IndexType::BloomFilter, scalar("bloomfilter", bloom(spec)?)),
        Kind::Inverted => (IndexType::Inverted, Box::new(text(spec)?)),
        Kind::Text => {
            return Err(Error::new(
                Code::Internal,
                "joust builds an FTS index itself, and Lance has no parameters for it",
            ));
        }
    })
}

/// The parameters that all vector indexes have.
struct Vectors {
    distance: DistanceType,
    ivf: IvfBuildParams,
    dimension: usize,
}

fn vectors(spec: &Spec, target: &Resolved) -> Result<Vectors> {
    let (element, dimension) = vector_element(&target.data_type)
        .ok_or_else(|| Error::invalid(format!("`{}` holds no vectors", target.column)))?;
    // Lance builds such an index, and then fails because vectors and centroids have different types.
    if element == DataType::Int8 {
        return Err(Error::invalid(format!(
            "column `{}` holds vectors of 8-bit integers, which can be searched only without an index; \
             for one store them as float16",
            target.column
        )));
    }
    Ok(Vectors {
        distance: distance(spec, &element)?,
        ivf: ivf(spec)?,
        dimension,
    })
}

fn distance(spec: &Spec, element: &DataType) -> Result<DistanceType> {
    let binary = *element == DataType::UInt8;
    let Some(name) = &spec.distance_type else {
        return Ok(if binary {
            DistanceType::Hamming
        } else {
            DistanceType::L2
        });
    };
    let distance = distance_type(name)?;
    if binary != (distance == DistanceType::Hamming) {
        return Err(Error::invalid(format!(
            "distance type {name} does not fit vectors of {element}; use {}",
            if binary {
                "hamming"
            } else {
                "l2, cosine or dot"
            }
        )));
    }
    Ok(distance)
}

fn ivf(spec: &Spec) -> Result<IvfBuildParams> {
    let mut ivf = IvfBuildParams::default();
    if spec.num_partitions.is_some() && spec.target_partition_size.is_some() {
        return Err(Error::invalid(
            "give `num_partitions` or `target_partition_size`, not both",
        ));
    }
    ivf.num_partitions = within("num_partitions", spec.num_partitions, 1, 65_536)?;
    ivf.target_partition_size = within(
        "target_partition_size",
        spec.target_partition_size,
        1,
        u32::MAX,
    )?;
    if let Some(rate) = within("sample_rate", spec.sample_rate, 2, 65_536)? {
        ivf.sample_rate = rate;
    }
    if let Some(iterations) = within("max_iterations", spec.max_iterations, 1, 10_000)? {
        ivf.max_iters = iterations;
    }
    Ok(ivf)
}

fn pq(spec: &Spec, dimension: usize) -> Result<PQBuildParams> {
    let num_bits = match spec.num_bits {
        None => 8,
        Some(bits @ (4 | 8)) => bits as usize,
        Some(bits) => {
            return Err(Error::invalid(format!(
                "`num_bits` {bits} is not possible; use 4 or 8"
            )));
        }
    };
    // Two codes of 4 bits share a byte.
    let fits = |count: usize| num_bits == 8 || count.is_multiple_of(2);
    let num_sub_vectors = match within("num_sub_vectors", spec.num_sub_vectors, 1, 65_536)? {
        Some(count) if !dimension.is_multiple_of(count) => {
            return Err(Error::invalid(format!(
                "`num_sub_vectors` {count} does not divide the dimension {dimension}"
            )));
        }
        Some(count) if !fits(count) => {
            return Err(Error::invalid(format!(
                "`num_sub_vectors` {count} is odd; codes of 4 bits need an even number"
            )));
        }
        Some(count) => count,
        None => (sub_vectors(dimension)..=dimension)
            .find(|count| dimension.is_multiple_of(*count) && fits(*count))
            .ok_or_else(|| {
                Error::invalid(format!(
                    "vectors of {dimension} numbers cannot have codes of 4 bits, which need an even \
                     number of sub-vectors; use `num_bits` 8"
                ))
            })?,
    };
    let mut pq = PQBuildParams {
        num_sub_vectors,
        num_bits,
        ..PQBuildParams::default()
    };
    if let Some(rate) = within("sample_rate", spec.sample_rate, 2, 65_536)? {
        pq.sample_rate = rate;
    }
    if let Some(iterations) = within("max_iterations", spec.max_iterations, 1, 10_000)? {
        pq.max_iters = iterations;
    }
    Ok(pq)
}

/// The LanceDB rule: one byte per 16 dimensions if divisible, else per 8, else one byte. An index with 4-bit codes
/// takes the next even number.
fn sub_vectors(dimension: usize) -> usize {
    match dimension {
        dimension if dimension.is_multiple_of(16) => dimension / 16,
        dimension if dimension.is_multiple_of(8) => dimension / 8,
        _ => 1,
    }
}

fn sq(spec: &Spec) -> Result<SQBuildParams> {
    let mut sq = SQBuildParams::default();
    if let Some(bits) = spec.num_bits {
        if bits != 8 {
            return Err(Error::invalid(format!(
                "`num_bits` {bits} is not possible; use 8"
            )));
        }
        sq.num_bits = 8;
    }
    if let Some(rate) = within("sample_rate", spec.sample_rate, 2, 65_536)? {
        sq.sample_rate = rate;
    }
    Ok(sq)
}

fn rq(spec: &Spec) -> Result<RQBuildParams> {
    let mut rq = RQBuildParams::default();
    if let Some(bits) = within("num_bits", spec.num_bits, 1, 9)? {
        rq.num_bits = bits as u8;
    }
    Ok(rq)
}

fn hnsw(spec: &Spec) -> Result<HnswBuildParams> {
    let mut hnsw = HnswBuildParams::default();
    if let Some(m) = within("m", spec.m, 2, 1_024)? {
        hnsw.m = m;
    }
    if let Some(candidates) = within("ef_construction", spec.ef_construction, 1, 65_536)? {
        hnsw.ef_construction = candidates;
    }
    Ok(hnsw)
}

fn bloom(spec: &Spec) -> Result<Option<Value>> {
    if let Some(rate) = spec.probability
        && !(1e-9..1.0).contains(&rate)
    {
        return Err(Error::invalid(format!(
            "`probability` {rate} is not possible; give a number from 1e-9 to below 1"
        )));
    }
    if let Some(items) = spec.number_of_items
        && !(1..=10_000_000).contains(&items)
    {
        return Err(Error::invalid(format!(
            "`number_of_items` {items} is not possible; give a number from 1 to 10000000"
        )));
    }
    let mut params = Map::new();
    if let Some(items) = spec.number_of_items {
        params.insert("number_of_items".into(), json!(items));
    }
    if let Some(rate) = spec.probability {
        params.insert("probability".into(), json!(rate));
    }
    Ok((!params.is_empty()).then_some(Value::Object(params)))
}

fn text(spec: &Spec) -> Result<InvertedIndexParams> {
    let text = &spec.text;
    let mut params = Map::new();
    let mut set = |name: &str, value: Value| {
        if !value.is_null() {
            params.insert(name.into(), value);
        }
    };
    set("with_position", json!(text.with_position));
    set("base_tokenizer", json!(text.base_tokenizer));
    set("language", json!(text.language.as_deref().map(title_case)));
    set("lower_case", json!(text.lower_case));
    set("stem", json!(text.stem));
    set("remove_stop_words", json!(text.remove_stop_words));
    set("custom_stop_words", json!(text.custom_stop_words));
    set("ascii_folding", json!(text.ascii_folding));
    set("min_ngram_length", json!(text.min_ngram_length));
    set("max_ngram_length", json!(text.max_ngram_length));
    set("prefix_only", json!(text.prefix_only));
    set("block_size", json!(spec.block_size));
    if let Some(limit) = text.max_token_length {
        // For Lance, null means no limit.
        params.insert("max_token_length".into(), json!(limit));
    }
    let unusable =
        |error: String| Error::invalid(format!("the full-text parameters can't be used: {error}"));
    let params: InvertedIndexParams = serde_json::from_value(Value::Object(params))
        .map_err(|error| unusable(error.to_string()))?;
    // An invalid tokenizer would fail the build.
    params
        .build()
        .map_err(|error| unusable(Error::of_input(error).to_string()))?;
    Ok(params)
}

/// Languages are written as `English`.
fn title_case(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| {
        first
            .to_uppercase()
            .chain(letters.as_str().to_lowercase().chars())
            .collect()
    })
}

fn within(name: &str, value: Option<u32>, least: u32, greatest: u32) -> Result<Option<usize>> {
    match value {
        Some(value) if !(least..=greatest).contains(&value) => Err(Error::invalid(format!(
            "`{name}` {value} is not possible; give a number from {least} to {greatest}"
        ))),
        value => Ok(value.map(|value| value as usize)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sub_vectors_of(dimension: usize, params: &Value) -> Result<usize> {
        let mut body = json!({"column": "v", "index_type": "IVF_PQ"});
        for (name, value) in params.as_object().unwrap() {
            body[name] = value.clone();
        }
        let spec = Spec::decode(&body.to_string()).unwrap();
        pq(&spec, dimension).map(|pq| pq.num_sub_vectors)
    }

    fn refusal(dimension: usize, params: &Value) -> String {
        sub_vectors_of(dimension, params).unwrap_err().to_string()
    }

    #[test]
    fn codes_of_4_bits_get_an_even_number_of_sub_vectors() {
        for (dimension, of_8_bits, of_4_bits) in [(8, 1, 2), (40, 5, 8), (64, 4, 4), (6, 1, 2)] {
            assert_eq!(sub_vectors_of(dimension, &json!({})).unwrap(), of_8_bits);
            let four = sub_vectors_of(dimension, &json!({"num_bits": 4}));
            assert_eq!(four.unwrap(), of_4_bits, "{dimension}");
        }
    }

    #[test]
    fn an_odd_number_of_sub_vectors_is_refused_with_4_bits() {
        let error = refusal(9, &json!({"num_bits": 4, "num_sub_vectors": 3}));
        assert!(error.contains("even"), "{error}");
        let error = refusal(9, &json!({"num_bits": 4}));
        assert!(error.contains("`num_bits` 8"), "{error}");
    }
}
