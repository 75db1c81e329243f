//! The segments that workers build: the order, and the checks of what they hand over.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use futures::Stream;
use lance::Dataset;
use lance::dataset::fragment::FileFragment;
use lance_file::reader::FileReader;
use lance_index::INDEX_AUXILIARY_FILE_NAME;
use lance_index::pb::VectorIndexDetails;
use lance_io::object_store::ObjectStore;
use lance_io::scheduler::{ScanScheduler, SchedulerConfig};
use lance_io::utils::CachedFileSize;
use lance_table::format::{IndexFile, IndexMetadata};
use object_store::ObjectStoreExt;
use object_store::path::Path;
use prost_types::Any;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::segment::{Segment, State};
use crate::error::{Error, Result};
use crate::index::{Arguments, Model};
use crate::jobs::remote::{CheckParts, Order, Part, RemoteWork, Task, details, is_damaged, key_of};
use crate::work::WorkContext;

/// Bytes that may be read ahead.
const READ_AHEAD_BYTES: u64 = 32 << 20;

/// The segments of one round.
pub struct RemoteSegments<'a> {
    pub dataset: Arc<Dataset>,
    /// The entry of the index without rows.
    pub definition: &'a IndexMetadata,
    pub arguments: &'a Arguments,
    pub model: Option<&'a Model>,
    /// The fields whose values the index reads.
    pub fields: &'a BTreeSet<i32>,
    pub groups: Vec<Group>,
    /// The directories of other indexes and segments.
    pub named: HashSet<Uuid>,
}

/// The fragments of a segment.
pub struct Group {
    pub fragments: Vec<FileFragment>,
    /// Without deleted ones.
    pub rows: u64,
}

/// The members of an order of this kind.
#[derive(Serialize)]
struct OrderDetails<'a> {
    arguments: &'a Arguments,
    model: Option<&'a Model>,
}

/// The members of a task: its units are rows.
#[derive(Serialize)]
struct TaskDetails<'a> {
    fragments: &'a [u64],
}

/// A segment, as a worker hands it over: the entry that pylance describes.
#[derive(Deserialize)]
struct BuiltSegment {
    uuid: Uuid,
    fields: Vec<i32>,
    dataset_version: u64,
    fragments: Vec<u64>,
    index_version: i32,
    type_url: String,
    /// Base64 of the value of its type.
    details: String,
    files: Vec<BuiltFile>,
}

#[derive(Deserialize)]
struct BuiltFile {
    path: String,
    size: u64,
}

impl RemoteSegments<'_> {
    /// Leaves the segments to workers.
    pub async fn build(
        self,
        remote: &RemoteWork,
        work: &WorkContext,
    ) -> Result<impl Stream<Item = Result<Segment>> + Send + use<>> {
        let store = self.dataset.object_store(None).await?;
        let manifest = &self.dataset.manifest_location().path;
        let manifest = store
            .inner
            .head(manifest)
            .await
            .map_err(lance::Error::from)?;
        let order = details(&OrderDetails {
            arguments: self.arguments,
            model: self.model,
        })?;
        let text = order.to_string();
        let mut tasks = Vec::with_capacity(self.groups.len());
        let mut ordered = HashMap::with_capacity(self.groups.len());
        for group in &self.groups {
            let (task, segment) = self.task(group, &text)?;
            ordered.insert(task.key.clone(), segment);
            tasks.push(task);
        }
        let order = Order {
            kind: "index",
            location: self.dataset.uri().to_string(),
            version: self.dataset.version_id(),
            concurrency: None,
            tasks,
            details: order,
            stage: "index_segments",
            function: None,
        };
        let checks = SegmentChecks {
            definition: self.definition.clone(),
            dataset: self.dataset,
            ordered,
            named: self.named,
            store,
            since: manifest.last_modified,
        };
        Ok(remote.receive(order, checks, work))
    }

    fn task(&self, group: &Group, order: &str) -> Result<(Task, OrderedSegment)> {
        let states = group.fragments.iter().map(|fragment| {
            let metadata = fragment.metadata();
            let state = State::of(metadata, self.fields);
            format!("{} {state:?} {:?}", metadata.id, metadata.deletion_file)
        });
        // Another run of the job may order it at a later version, and a segment has to be one of that version.
        let version = self.dataset.version_id();
        let key = key_of(&(order, version, states.collect::<Vec<_>>()));
        let fragments = group.fragments.iter().map(|one| one.id() as u64);
        let segment = OrderedSegment {
            fragments: fragments.collect(),
            rows: group.rows,
        };
        let details = details(&TaskDetails {
            fragments: &segment.fragments,
        })?;
        let units = segment.rows;
        Ok((
            Task {
                key,
                units,
                details,
            },
            segment,
        ))
    }
}

/// The segment of a task.
struct OrderedSegment {
    fragments: Vec<u64>,
    rows: u64,
}

/// Checks the segments of workers.
struct SegmentChecks {
    dataset: Arc<Dataset>,
    definition: IndexMetadata,
    /// By the key of the task.
    ordered: HashMap<String, OrderedSegment>,
    /// The directories of other indexes and segments.
    named: HashSet<Uuid>,
    store: Arc<ObjectStore>,
    /// When the version was written, by the clock of the store: the files of indexes of older versions are older.
    since: DateTime<Utc>,
}

impl CheckParts for SegmentChecks {
    type Output = Segment;

    async fn check(&mut self, task: &Task, part: &Part) -> Result<Segment> {
        let built: BuiltSegment = part.read()?;
        let ordered = &self.ordered[&task.key];
        let fault = if self.named.contains(&built.uuid) {
            Some("belongs to a version of the table or to another task")
        } else if built.fields != self.definition.fields {
            Some("has another column")
        } else if built.dataset_version != self.dataset.version_id() {
            Some("is of another version")
        } else if built.fragments != ordered.fragments {
            Some("has other fragments")
        } else if !self.is_defined(&built) {
            Some("has another type or other parameters")
        } else if built.files.is_empty() {
            Some("has no files")
        } else {
            None
        };
        if let Some(fault) = fault {
            return Err(refused(built.uuid, fault));
        }
        let mut files = Vec::with_capacity(built.files.len());
        for file in &built.files {
            let rows = self.rows_of(built.uuid, file).await?;
            if file.path == INDEX_AUXILIARY_FILE_NAME && rows > ordered.rows {
                let fault = "has more vectors than its fragments have rows";
                return Err(refused(built.uuid, fault));
            }
            files.push(IndexFile {
                path: file.path.clone(),
                size_bytes: file.size,
            });
        }
        self.named.insert(built.uuid);
        Ok(Segment {
            entry: IndexMetadata {
                uuid: built.uuid,
                dataset_version: built.dataset_version,
                fragment_bitmap: Some(built.fragments.iter().map(|id| *id as u32).collect()),
                files: Some(files),
                created_at: Some(Utc::now()),
                ..self.definition.clone()
            },
            source: self.dataset.clone(),
            fragments: built.fragments,
        })
    }
}

impl SegmentChecks {
    /// Whether a segment has the type and the parameters of the index.
    fn is_defined(&self, built: &BuiltSegment) -> bool {
        let Some(defined) = self.definition.index_details.as_deref() else {
            return false;
        };
        let Ok(value) = STANDARD.decode(&built.details) else {
            return false;
        };
        if (defined.type_url.as_str(), self.definition.index_version)
            != (built.type_url.as_str(), built.index_version)
        {
            return false;
        }
        let given = Any {
            type_url: built.type_url.clone(),
            value,
        };
        // For other types these are errors.
        match (
            defined.to_msg::<VectorIndexDetails>(),
            given.to_msg::<VectorIndexDetails>(),
        ) {
            // The other members say how the model was trained.
            (Ok(defined), Ok(given)) => {
                defined.metric_type == given.metric_type
                    && defined.hnsw_index_config == given.hnsw_index_config
                    && defined.compression == given.compression
            }
            _ => defined.value == given.value,
        }
    }

    /// The rows of a file of a segment.
    async fn rows_of(&self, segment: Uuid, file: &BuiltFile) -> Result<u64> {
        if !file.path.split('/').all(is_file_name) {
            return Err(refused(segment, "has a file with an invalid name"));
        }
        let directory: Path = self.dataset.indices_dir().join(segment.to_string());
        let path = file.path.split('/').fold(directory, Path::join);
        let found = match self.store.inner.head(&path).await {
            Err(object_store::Error::NotFound { .. }) => {
                return Err(Error::invalid(format!(
                    "a worker's file is not at {path}: workers have to write where the server reads \
                     the table"
                )));
            }
            found => found.map_err(lance::Error::from)?,
        };
        if found.last_modified < self.since {
            return Err(refused(segment, "is older than its order"));
        }
        if found.size != file.size {
            return Err(refused(segment, "has a file of another size"));
        }
        let scheduler =
            ScanScheduler::new(self.store.clone(), SchedulerConfig::new(READ_AHEAD_BYTES));
        let opened = scheduler
            .open_file(&path, &CachedFileSize::unknown())
            .await?;
        match FileReader::read_all_metadata(&opened).await {
            Ok(metadata) => Ok(metadata.num_rows),
            Err(error) if is_damaged(&error) => Err(refused(segment, "has a damaged file")),
            Err(error) => Err(error.into()),
        }
    }
}

fn is_file_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    !name.is_empty() && !name.starts_with('.') && name.bytes().all(is_plain)
}

fn refused(segment: Uuid, fault: &str) -> Error {
    Error::invalid(format!("the index segment {segment} of a worker {fault}"))
}
