use std::path::PathBuf;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use serde::Deserialize;

use crate::tables::Table;
use crate::{Result, read, write};

/// What a client may want, as `bench/scenarios.mjs` says it to every contender.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Ask {
    Vector(Vector),
    Text(Text),
    Hybrid {
        #[serde(flatten)]
        vector: Vector,
        text: String,
    },
    Filter {
        filter: String,
        limit: i64,
        columns: Vec<String>,
    },
    Points {
        ids: Vec<i64>,
        columns: Vec<String>,
    },
    Count {
        filter: Option<String>,
    },
    Download,
    /// Appends the rows of a file with an Arrow IPC stream.
    Insert {
        source: PathBuf,
    },
}

#[derive(Deserialize)]
pub struct Vector {
    /// Several are one request.
    pub vectors: Vec<Vec<f32>>,
    pub k: usize,
    pub distance: String,
    pub columns: Vec<String>,
    pub nprobes: Option<usize>,
    pub refine: Option<u32>,
    pub ef: Option<usize>,
    pub filter: Option<String>,
    #[serde(default)]
    pub flat: bool,
}

#[derive(Deserialize)]
pub struct Text {
    pub text: String,
    pub k: i64,
    pub columns: Vec<String>,
}

/// The rows of an answer.
#[derive(Default)]
pub struct Answer {
    pub rows: u64,
    pub batches: Vec<RecordBatch>,
}

impl From<Vec<RecordBatch>> for Answer {
    fn from(batches: Vec<RecordBatch>) -> Self {
        let rows = batches.iter().map(|batch| batch.num_rows() as u64).sum();
        Self { rows, batches }
    }
}

impl Answer {
    /// The column `id`, where the answer has one.
    pub fn ids(&self) -> Vec<i64> {
        let columns = self.batches.iter().filter_map(|batch| {
            batch
                .column_by_name("id")?
                .as_primitive_opt::<Int64Type>()
                .map(|ids| ids.values().to_vec())
        });
        columns.flatten().collect()
    }
}

impl Ask {
    pub async fn run(&self, table: &Table) -> Result<Answer> {
        match self {
            Self::Vector(vector) => read::vector(table, vector).await,
            Self::Text(text) => read::text(table, text).await,
            Self::Hybrid { vector, text } => read::hybrid(table, vector, text).await,
            Self::Filter {
                filter,
                limit,
                columns,
            } => read::filter(table, filter, Some(*limit), columns).await,
            Self::Points { ids, columns } => {
                let ids = ids.iter().map(ToString::to_string).collect::<Vec<_>>();
                let filter = format!("id IN ({})", ids.join(", "));
                read::filter(table, &filter, None, columns).await
            }
            Self::Count { filter } => read::count(table, filter.clone()).await,
            Self::Download => read::everything(table).await,
            Self::Insert { source } => write::insert(table, source).await,
        }
    }
}
