use std::collections::HashMap;
use std::sync::Arc;

use lance::Dataset;
use lance::dataset::builder::DatasetBuilder;
use lance::session::Session;
use parking_lot::RwLock;

use crate::Result;

/// The default budgets of joust, bytes.
const INDEX_CACHE: usize = 2 << 30;
const METADATA_CACHE: usize = 512 << 20;

/// The open tables, which share one session.
pub struct Tables {
    session: Arc<Session>,
    open: HashMap<String, Table>,
}

/// An open table; appends put their version in its place.
#[derive(Clone)]
pub struct Table(Arc<RwLock<Arc<Dataset>>>);

impl Table {
    pub fn dataset(&self) -> Arc<Dataset> {
        self.0.read().clone()
    }

    /// Unless a later one is there already.
    pub fn replace(&self, dataset: Dataset) {
        let mut current = self.0.write();
        if dataset.version().version > current.version().version {
            *current = Arc::new(dataset);
        }
    }
}

impl Tables {
    pub fn new() -> Self {
        let session = Session::new(INDEX_CACHE, METADATA_CACHE, Arc::default());
        Self {
            session: Arc::new(session),
            open: HashMap::new(),
        }
    }

    pub async fn open(&mut self, name: &str, path: &str) -> Result<()> {
        let builder = DatasetBuilder::from_uri(path).with_session(self.session.clone());
        let dataset = Arc::new(builder.load().await?);
        let table = Table(Arc::new(RwLock::new(dataset)));
        self.open.insert(name.to_owned(), table);
        Ok(())
    }

    pub fn get(&self, name: &str) -> Result<Table> {
        let table = self.open.get(name).cloned();
        table.ok_or_else(|| format!("no table {name} is open").into())
    }
}
