//! Hybrid search: runs a vector and a text search and fuses their results.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::{Float32Type, UInt64Type};
use datafusion::physical_plan::ExecutionPlan;
use futures::TryStreamExt;
use joust_text::search::Hit;
use lance_datafusion::exec::{LanceExecutionOptions, execute_plan};
use serde::Deserialize;

use super::output::Ranked;
use crate::error::{Error, Result};
use crate::vector::Neighbor;

/// The options in a query; absent ones have defaults.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct HybridRequest {
    method: Option<Method>,
    rank_constant: Option<f64>,
    vector_weight: Option<f64>,
}

/// The fusion method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
// Through a string: for a value of another type, serde_json reports invalid JSON.
#[serde(try_from = "String")]
pub enum Method {
    /// By the ranks of a row in the two lists.
    #[default]
    Rrf,
    /// By the score and the distance of a row, each scaled to 0 to 1 over its list.
    Weighted,
}

impl TryFrom<String> for Method {
    type Error = String;

    fn try_from(name: String) -> std::result::Result<Self, String> {
        match name.as_str() {
            "rrf" => Ok(Self::Rrf),
            "weighted" => Ok(Self::Weighted),
            _ => Err(format!("there is no method `{name}`; give rrf or weighted")),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Hybrid {
    pub method: Method,
    /// Reciprocal rank fusion: added to every rank, so that the first ranks do not dominate.
    pub rank_constant: f32,
    /// Weighted: the weight of the vector scores, 0 to 1.
    pub vector_weight: f32,
}

impl Hybrid {
    pub fn new(request: Option<&HybridRequest>) -> Result<Self> {
        let request = request.cloned().unwrap_or_default();
        let rank_constant = request.rank_constant.unwrap_or(60.0);
        let vector_weight = request.vector_weight.unwrap_or(0.5);
        if !(0.0..=1e6).contains(&rank_constant) {
            return Err(Error::invalid(
                "`rank_constant` of a hybrid search must be a number from 0 to 1000000",
            ));
        }
        if !(0.0..=1.0).contains(&vector_weight) {
            return Err(Error::invalid(
                "`vector_weight` of a hybrid search must be a number from 0 to 1",
            ));
        }
        Ok(Self {
            method: request.method.unwrap_or_default(),
            rank_constant: rank_constant as f32,
            vector_weight: vector_weight as f32,
        })
    }

    /// Fuses two lists, each in its order of relevance, the most relevant first.
    pub fn fuse(&self, found: &[Hit], neighbors: &[Neighbor]) -> Vec<Ranked> {
        let mut rows: HashMap<u64, Ranked> = HashMap::new();
        let text = scaled(found.iter().map(|hit| hit.score));
        for (rank, (hit, scaled)) in found.iter().zip(text).enumerate() {
            let own = rows.entry(hit.row).or_insert_with(|| Ranked::from(*hit));
            own.relevance += match self.method {
                Method::Rrf => 1.0 / (self.rank_constant + rank as f32 + 1.0),
                Method::Weighted => (1.0 - self.vector_weight) * scaled,
            };
        }
        let close = scaled(neighbors.iter().map(|neighbor| -neighbor.distance));
        for (rank, (neighbor, scaled)) in neighbors.iter().zip(close).enumerate() {
            let own = rows.entry(neighbor.row).or_insert(Ranked {
                row: neighbor.row,
                ..Ranked::default()
            });
            own.distance = Some(neighbor.distance);
            own.relevance += match self.method {
                Method::Rrf => 1.0 / (self.rank_constant + rank as f32 + 1.0),
                Method::Weighted => self.vector_weight * scaled,
            };
        }
        let mut rows: Vec<Ranked> = rows.into_values().collect();
        rows.sort_unstable_by(|a, b| {
            let relevance = b.relevance.total_cmp(&a.relevance);
            relevance.then(a.row.cmp(&b.row))
        });
        rows
    }

    pub fn describe(&self) -> String {
        match self.method {
            Method::Rrf => format!(
                "Fuse: reciprocal rank, rank_constant={}",
                self.rank_constant
            ),
            Method::Weighted => format!("Fuse: weighted, vector_weight={}", self.vector_weight),
        }
    }
}

/// Scores from 0 to 1; all 1 if they are equal. An infinite score, such as a distance that is too large for its type,
/// is beyond the finite ones, which keep their scale.
fn scaled(scores: impl Iterator<Item = f32> + Clone) -> impl Iterator<Item = f32> {
    let finite = scores.clone().filter(|score| score.is_finite());
    let least = finite.clone().fold(f32::INFINITY, f32::min);
    let most = finite.fold(f32::NEG_INFINITY, f32::max);
    scores.map(move |score| match most > least {
        // The difference of two large scores may be infinite.
        true if score.is_finite() => (score / 2.0 - least / 2.0) / (most / 2.0 - least / 2.0),
        _ if score == f32::NEG_INFINITY => 0.0,
        _ => 1.0,
    })
}

/// Row ids and values of a plan that returns `_rowid` and one more column, `value`.
pub async fn rows(plan: Arc<dyn ExecutionPlan>, value: &str) -> Result<Vec<(u64, f32)>> {
    let batches = execute_plan(plan, LanceExecutionOptions::default());
    let batches = batches.map_err(Error::of_input)?;
    let batches: Vec<_> = batches.try_collect().await.map_err(Error::of_input)?;
    let mut rows = Vec::new();
    for batch in &batches {
        let (Some(ids), Some(values)) =
            (batch.column_by_name("_rowid"), batch.column_by_name(value))
        else {
            continue;
        };
        let ids = ids.as_primitive::<UInt64Type>().values();
        let values = values.as_primitive::<Float32Type>().values();
        rows.extend(ids.iter().copied().zip(values.iter().copied()));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(rows: &[(u64, f32)]) -> Vec<Hit> {
        rows.iter()
            .map(|&(row, score)| Hit { row, score })
            .collect()
    }

    fn neighbors(rows: &[(u64, f32)]) -> Vec<Neighbor> {
        rows.iter()
            .map(|&(row, distance)| Neighbor { row, distance })
            .collect()
    }

    #[test]
    fn a_row_of_both_lists_is_more_relevant_than_the_first_of_one() {
        let fused = Hybrid::new(None).unwrap().fuse(
            &hits(&[(1, 9.0), (2, 8.0)]),
            &neighbors(&[(3, 0.1), (2, 0.2)]),
        );
        let rows: Vec<u64> = fused.iter().map(|ranked| ranked.row).collect();
        assert_eq!(rows, [2, 1, 3]);
        assert!((fused[0].relevance - 2.0 / 62.0).abs() < 1e-6);
        assert_eq!((fused[0].score, fused[0].distance), (Some(8.0), Some(0.2)));
        assert_eq!((fused[1].score, fused[1].distance), (Some(9.0), None));
        assert_eq!((fused[2].score, fused[2].distance), (None, Some(0.1)));
    }

    #[test]
    fn weights_decide_between_scaled_scores() {
        let weighted = |vector_weight| Hybrid {
            method: Method::Weighted,
            vector_weight,
            rank_constant: 60.0,
        };
        let text = hits(&[(1, 10.0), (2, 5.0)]);
        let close = neighbors(&[(2, 1.0), (1, 3.0)]);
        assert_eq!(weighted(0.25).fuse(&text, &close)[0].row, 1);
        assert_eq!(weighted(0.75).fuse(&text, &close)[0].row, 2);
        assert!((weighted(0.25).fuse(&text, &close)[0].relevance - 0.75).abs() < 1e-6);
    }

    #[test]
    fn an_infinite_distance_is_the_least_relevant_one() {
        let weighted = Hybrid {
            method: Method::Weighted,
            vector_weight: 1.0,
            rank_constant: 60.0,
        };
        let relevance = |distances: &[(u64, f32)]| -> Vec<(u64, f32)> {
            let fused = weighted.fuse(&[], &neighbors(distances));
            fused.iter().map(|one| (one.row, one.relevance)).collect()
        };
        let infinite = f32::INFINITY;
        let found = relevance(&[(0, 0.0), (1, 1.0), (2, 4.0), (3, infinite)]);
        assert_eq!(found, [(0, 1.0), (1, 0.75), (2, 0.0), (3, 0.0)]);
        assert_eq!(relevance(&[(0, infinite)]), [(0, 0.0)]);
        assert_eq!(relevance(&[(0, 2.0), (1, infinite)]), [(0, 1.0), (1, 0.0)]);
        let large = relevance(&[(0, -f32::MAX), (1, f32::MAX)]);
        assert_eq!(large, [(0, 1.0), (1, 0.0)]);
    }
}
