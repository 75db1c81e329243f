//! Vector columns and distance types.

use arrow::datatypes::DataType;
use lance_linalg::distance::DistanceType;

use crate::error::{Error, Result};

/// A column that can be searched by vector.
pub struct VectorColumn {
    pub path: String,
    pub dimension: usize,
    /// Each row contains several vectors, and several query vectors form one query.
    pub holds_several: bool,
    pub element: DataType,
}

/// The properties of a vector column; `None` if the type is not a vector.
pub fn describe(path: &str, data_type: &DataType) -> Option<VectorColumn> {
    let (list, holds_several) = match data_type {
        DataType::List(inner) => (inner.data_type(), true),
        other => (other, false),
    };
    let DataType::FixedSizeList(element, dimension) = list else {
        return None;
    };
    let searchable = matches!(
        element.data_type(),
        DataType::Float16
            | DataType::Float32
            | DataType::Float64
            | DataType::UInt8
            | DataType::Int8
    );
    searchable.then(|| VectorColumn {
        path: path.to_string(),
        dimension: *dimension as usize,
        holds_several,
        element: element.data_type().clone(),
    })
}

/// Whether columns of a type can be searched by vector.
pub fn is_vector(data_type: &DataType) -> bool {
    describe("", data_type).is_some()
}

/// The element type and the dimension of a vector type.
pub fn vector_element(data_type: &DataType) -> Option<(DataType, usize)> {
    describe("", data_type).map(|column| (column.element, column.dimension))
}

/// Parses the name of a distance type in either interface.
pub fn distance_type(name: &str) -> Result<DistanceType> {
    match name.to_ascii_lowercase().as_str() {
        "l2" | "euclidean" => Ok(DistanceType::L2),
        "cosine" => Ok(DistanceType::Cosine),
        "dot" => Ok(DistanceType::Dot),
        "hamming" => Ok(DistanceType::Hamming),
        _ => Err(Error::invalid(format!(
            "`{name}` is no distance type; use l2, cosine, dot or hamming"
        ))),
    }
}
