//! What may be asked, and what may happen to a table in between.

use proptest::prelude::*;

use super::pair::{DIMENSION, Element, number};

/// What happens to the table.
#[derive(Debug, Clone)]
pub enum Change {
    Append(i64),
    Delete(i64),
    Update(i64),
    Index(&'static str, &'static str),
    /// Of a column that is no vector.
    ScalarIndex(&'static str, &'static str),
    OptimizeIndices,
    Compact,
}

#[derive(Debug, Clone)]
pub struct Asked {
    seed: i64,
    /// Several vectors in one query, when there is a number.
    several: Option<i64>,
    k: u64,
    offset: u64,
    nprobes: Option<u32>,
    refine: Option<u32>,
    filter: Option<&'static str>,
    metric: Option<&'static str>,
    bounds: (Option<f32>, Option<f32>),
    bypass: bool,
    fast: bool,
    columns: Option<Vec<&'static str>>,
    with_row_id: bool,
    prefilter: bool,
    back: u64,
}

impl Asked {
    pub fn body(&self, newest: u64, element: Element) -> serde_json::Value {
        let vector = |seed: i64| -> Vec<f32> {
            (0..DIMENSION as i64)
                .map(|place| element.of(number(seed, place) + 0.001))
                .collect()
        };
        let vector = match self.several {
            Some(count) => {
                let several = (0..count).map(|own| vector(self.seed + own * 3));
                serde_json::json!(several.collect::<Vec<_>>())
            }
            None => serde_json::json!(vector(self.seed)),
        };
        let mut body = serde_json::json!({
            "k": self.k, "offset": self.offset, "vector": vector, "with_row_id": self.with_row_id,
            "bypass_vector_index": self.bypass, "fast_search": self.fast,
            "prefilter": self.prefilter, "version": newest.saturating_sub(self.back).max(1),
        });
        let mut set = |name: &str, value: serde_json::Value| body[name] = value;
        if let Some(nprobes) = self.nprobes {
            set("nprobes", nprobes.into());
        }
        if let Some(refine) = self.refine {
            set("refine_factor", refine.into());
        }
        if let Some(filter) = self.filter {
            set("filter", filter.into());
        }
        if let Some(metric) = self.metric.filter(|_| element != Element::U8) {
            set("distance_type", metric.into());
        }
        if let Some(columns) = &self.columns {
            set("columns", serde_json::json!(columns));
        }
        if let (Some(lower), _) = self.bounds {
            set("lower_bound", lower.into());
        }
        if let (_, Some(upper)) = self.bounds {
            set("upper_bound", upper.into());
        }
        body
    }
}

impl Asked {
    /// A query by a filter alone, and by keys when the seed says so.
    pub fn read(&self, newest: u64) -> serde_json::Value {
        let seed = self.seed;
        let filter = match (self.filter, seed % 8) {
            (Some(filter), 0) => filter.to_string(),
            (_, 0) => "id >= 0".to_string(),
            (_, 1) => format!("id = {seed}"),
            (_, 2) => format!(
                "id >= {seed} AND id < {} AND `group` = {}",
                seed + 90,
                seed % 7
            ),
            (_, 3) => format!(
                "`group` != 3 AND name > 'name {seed}' AND id <= {}",
                seed * 2
            ),
            (_, 4) => format!("(`group` = {}) AND (id BETWEEN {seed} AND 390)", seed % 7),
            (_, 5) => format!("name IN ('name {seed}', 'changed', 'none')"),
            (_, _) => format!("id IN ({seed}, 7, {}, {seed})", seed / 2),
        };
        let mut body = serde_json::json!({
            "k": self.k, "offset": self.offset, "with_row_id": self.with_row_id, "filter": filter,
            "version": newest.saturating_sub(self.back).max(1),
        });
        if let Some(columns) = &self.columns {
            let own: Vec<_> = columns
                .iter()
                .filter(|name| **name != "_distance")
                .collect();
            body["columns"] = serde_json::json!(own);
        }
        body
    }
}

pub fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (1..80_i64).prop_map(Change::Append),
        3 => (2..9_i64).prop_map(Change::Delete),
        3 => (2..9_i64).prop_map(Change::Update),
        3 => (
            prop::sample::select(vec!["IVF_FLAT", "IVF_PQ", "IVF_SQ", "IVF_HNSW_SQ", "IVF_RQ"]),
            prop::sample::select(vec!["l2", "cosine", "dot"]),
        )
            .prop_map(|(kind, metric)| Change::Index(kind, metric)),
        1 => prop::sample::select(vec![
            Change::ScalarIndex("id", "BTREE"),
            Change::ScalarIndex("name", "BTREE"),
            Change::ScalarIndex("group", "BITMAP"),
        ]),
        1 => Just(Change::OptimizeIndices),
        1 => Just(Change::Compact),
    ]
}

pub fn asked() -> impl Strategy<Value = Asked> {
    let wide = (
        0..400_i64,
        prop::option::weighted(0.4, 1..6_i64),
        1..30_u64,
        0..5_u64,
        prop::option::of(1..6_u32),
        prop::option::of(1..4_u32),
        prop::sample::select(vec![
            None,
            None,
            Some("`group` = 3"),
            Some("id < 5"),
            Some("name is null"),
            Some("id >= 50 AND id < 250 AND `group` = 2"),
            Some("(name <> 'changed') and id between 20 and 290"),
            Some("`group` IN (1, 4) AND id > 31"),
            Some("id > 100000"),
        ]),
    );
    let narrow = (
        prop::sample::select(vec![
            None,
            None,
            None,
            Some("l2"),
            Some("cosine"),
            Some("dot"),
        ]),
        (
            prop::option::weighted(0.2, -1.0..2.0_f32),
            prop::option::weighted(0.2, 0.0..4.0_f32),
        ),
        prop::bool::weighted(0.25),
        prop::bool::weighted(0.15),
        prop::sample::select(vec![
            None,
            Some(vec!["id", "name"]),
            Some(vec!["vector", "_distance", "id"]),
            Some(vec!["name"]),
        ]),
        any::<bool>(),
        prop::bool::weighted(0.9),
        prop::sample::select(vec![0, 0, 0, 1, 2]),
    );
    (wide, narrow).prop_map(|(wide, narrow)| {
        let (seed, several, k, offset, nprobes, refine, filter) = wide;
        let (metric, bounds, bypass, fast, columns, with_row_id, prefilter, back) = narrow;
        Asked {
            seed,
            several,
            k,
            offset,
            nprobes,
            refine,
            filter,
            metric,
            bounds,
            bypass,
            fast,
            columns,
            with_row_id,
            prefilter,
            back,
        }
    })
}
