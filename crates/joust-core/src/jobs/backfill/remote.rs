//! Fragments that workers outside of this process compute: tasks on Ray.
//!
//! A backfill publishes an [`Order`] with the fragments that it needs. A worker writes the column of a fragment to a file
//! that no version names, and hands over a [`Part`]. The backfill checks the file and continues as with a file of its own.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use futures::Stream;
use lance::Dataset;
use lance::dataset::fragment::FileFragment;
use lance::dataset::transaction::DataReplacementGroup;
use lance_core::datatypes::{NullabilityComparison, SchemaCompareOptions};
use lance_file::reader::{CachedFileMetadata, FileReader};
use lance_io::scheduler::{ScanScheduler, SchedulerConfig};
use lance_io::utils::CachedFileSize;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};

use super::binding::Binding;
use super::order::{Order, Part};
use super::stage::{Basis, READ_AHEAD_BYTES, Staged};
use crate::error::{Error, Result};
use crate::jobs::row_failures::MOST_FAILURES;
use crate::work::WorkContext;

/// The longest message of a failed row, bytes.
const MOST_MESSAGE: usize = 2_000;

/// The work that a backfill leaves to workers. Clones share it.
#[derive(Clone, Default)]
pub struct RemoteWork {
    state: Arc<Mutex<State>>,
    orders: watch::Sender<Orders>,
}

#[derive(Default)]
struct Orders {
    /// The number of the current one; 0: there was none.
    number: u64,
    /// None follows.
    has_ended: bool,
}

#[derive(Default)]
struct State {
    round: Option<Round>,
    /// The workers have failed.
    failure: Option<Error>,
}

/// The fragments that the backfill waits for.
struct Round {
    order: Arc<Order>,
    /// Computed rows of the fragments that workers have begun.
    running: BTreeMap<u64, u64>,
    /// Rows of the fragments that they have handed over.
    done: BTreeMap<u64, u64>,
    work: WorkContext,
    messages: mpsc::UnboundedSender<Message>,
}

enum Message {
    Part(Part, oneshot::Sender<Result<()>>),
    Failure(Error),
}

impl RemoteWork {
    /// Waits until the backfill has work for workers. False: it has ended without.
    pub async fn ordered(&self) -> bool {
        let mut orders = self.orders.subscribe();
        let waited = orders
            .wait_for(|orders| orders.number > 0 || orders.has_ended)
            .await;
        waited.is_ok_and(|orders| orders.number > 0)
    }

    /// The guard lives as long as the backfill: when it is dropped, no order follows.
    #[must_use]
    pub fn begin(&self) -> EndWork {
        EndWork(self.orders.clone())
    }

    /// The current order and its number; `None`: the backfill waits for no worker.
    #[must_use]
    pub fn order(&self) -> Option<(u64, Arc<Order>)> {
        let state = self.state.lock();
        let order = state.round.as_ref()?.order.clone();
        Some((self.orders.borrow().number, order))
    }

    /// Takes note of the computed rows of a fragment. Returns whether its values are still needed.
    #[must_use]
    pub fn progress(&self, fragment: u64, key: &str, rows: u64) -> bool {
        let mut state = self.state.lock();
        let Some(round) = state.round.as_mut() else {
            return false;
        };
        let Some(ordered) = round.order.find(fragment, key) else {
            return false;
        };
        if round.done.contains_key(&fragment) {
            return false;
        }
        let rows = rows.min(ordered.rows);
        round.running.insert(fragment, rows);
        round.report();
        true
    }

    /// Hands over a fragment. Returns whether the backfill needed it. Code 13 if the file has other rows or columns.
    pub async fn deliver(&self, part: Part) -> Result<bool> {
        let (reply, replied) = oneshot::channel();
        {
            let state = self.state.lock();
            let Some(round) = state.round.as_ref() else {
                return Ok(false);
            };
            if round.order.find(part.fragment, &part.key).is_none() {
                return Ok(false);
            }
            if round.messages.send(Message::Part(part, reply)).is_err() {
                return Ok(false);
            }
        }
        match replied.await {
            Ok(taken) => taken.map(|()| true),
            // The round has ended.
            Err(_) => Ok(false),
        }
    }

    /// Fails the backfill as soon as it waits for workers.
    pub fn fail(&self, error: Error) {
        let mut state = self.state.lock();
        if let Some(round) = &state.round {
            let _ = round.messages.send(Message::Failure(error.clone()));
        }
        state.failure = Some(error);
    }

    /// Publishes the order, and receives its fragments until all are there.
    pub(super) fn stage(
        &self,
        order: Order,
        fragments: Vec<FileFragment>,
        dataset: Arc<Dataset>,
        binding: Arc<Binding>,
        work: &WorkContext,
    ) -> impl Stream<Item = Result<Staged>> + Send + use<> {
        let (messages, received) = mpsc::unbounded_channel();
        let receiver = (!fragments.is_empty()).then(|| {
            let mut state = self.state.lock();
            if let Some(error) = &state.failure {
                let _ = messages.send(Message::Failure(error.clone()));
            }
            state.round = Some(Round {
                order: Arc::new(order),
                running: BTreeMap::new(),
                done: BTreeMap::new(),
                work: work.clone(),
                messages,
            });
            drop(state);
            self.orders.send_modify(|orders| orders.number += 1);
            Receiver {
                remaining: fragments
                    .into_iter()
                    .map(|fragment| (fragment.id() as u64, fragment))
                    .collect(),
                dataset,
                binding,
                taken: HashSet::new(),
                received,
                round: EndRound(self.state.clone()),
            }
        });
        futures::stream::try_unfold(receiver, |receiver| async move {
            let Some(mut receiver) = receiver else {
                return Ok(None);
            };
            let staged = receiver.next().await?;
            Ok(staged.map(|staged| (staged, Some(receiver))))
        })
    }
}

impl std::fmt::Debug for RemoteWork {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("RemoteWork").finish_non_exhaustive()
    }
}

impl Round {
    fn report(&self) {
        let rows: u64 = self.running.values().chain(self.done.values()).sum();
        let total = self.order.fragments.iter().map(|one| one.rows).sum();
        self.work.report("backfill", rows.min(total), Some(total));
    }
}

/// No order follows when the backfill ends.
pub struct EndWork(watch::Sender<Orders>);

impl Drop for EndWork {
    fn drop(&mut self) {
        self.0.send_modify(|orders| orders.has_ended = true);
    }
}

/// Ends the round when the backfill stops waiting.
struct EndRound(Arc<Mutex<State>>);

impl EndRound {
    fn finish(&self, fragment: u64, rows: u64) {
        if let Some(round) = &mut self.0.lock().round {
            round.running.remove(&fragment);
            round.done.insert(fragment, rows);
            round.report();
        }
    }
}

impl Drop for EndRound {
    fn drop(&mut self) {
        self.0.lock().round = None;
    }
}

/// Receives the fragments of one round.
struct Receiver {
    remaining: BTreeMap<u64, FileFragment>,
    dataset: Arc<Dataset>,
    binding: Arc<Binding>,
    /// The files that fragments have got.
    taken: HashSet<String>,
    received: mpsc::UnboundedReceiver<Message>,
    round: EndRound,
}

impl Receiver {
    /// The next fragment; `None` after the last one.
    async fn next(&mut self) -> Result<Option<Staged>> {
        while !self.remaining.is_empty() {
            let (part, reply) = match self.received.recv().await {
                Some(Message::Part(part, reply)) => (part, reply),
                Some(Message::Failure(error)) => return Err(error),
                None => break,
            };
            // A worker that got no reply hands its file over again. Of two workers, the file of the second one stays
            // until the clean-up of versions.
            let Some(fragment) = self.remaining.get(&part.fragment) else {
                let _ = reply.send(Ok(()));
                continue;
            };
            if self.taken.contains(&part.file) {
                let error = format!("the file {:?} belongs to another fragment", part.file);
                let _ = reply.send(Err(Error::invalid(error)));
                continue;
            }
            match staged(&self.dataset, fragment, &self.binding, part).await {
                Ok(staged) => {
                    self.taken.insert(staged.group.1.path.clone());
                    let rows = fragment.fast_physical_rows().unwrap_or(0) as u64;
                    self.remaining.remove(&staged.group.0);
                    self.round.finish(staged.group.0, rows);
                    let _ = reply.send(Ok(()));
                    return Ok(Some(staged));
                }
                Err(error) => drop(reply.send(Err(error))),
            }
        }
        Ok(None)
    }
}

/// Checks the file of a worker.
async fn staged(
    dataset: &Dataset,
    fragment: &FileFragment,
    binding: &Binding,
    part: Part,
) -> Result<Staged> {
    let refused = |what: &str| {
        Error::invalid(format!(
            "the file {:?} of a worker for fragment {} {what}",
            part.file, part.fragment
        ))
    };
    let stem = part.file.strip_suffix(".lance").unwrap_or_default();
    if stem.is_empty() || !stem.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(refused("has an invalid name"));
    }
    let is_named = dataset
        .fragments()
        .iter()
        .flat_map(|one| &one.files)
        .any(|file| file.path == part.file);
    if is_named {
        return Err(refused("belongs to a version of the table"));
    }
    let rows = fragment.physical_rows().await? as u64;
    let stored = metadata(dataset, &part.file).await?;
    let comparison = SchemaCompareOptions {
        compare_nullability: NullabilityComparison::Ignore,
        ..SchemaCompareOptions::default()
    };
    stored
        .file_schema
        .check_compatible(&binding.target, &comparison)
        .map_err(|_| refused("has another column"))?;
    if stored.num_rows != rows {
        return Err(refused("has another number of rows"));
    }
    let file = dataset.create_data_file(&part.file, None).await?;
    let mut tally = part.tally;
    let counts = [tally.assigned, tally.failed, tally.changed];
    let failures = &mut tally.failures;
    failures.truncate(MOST_FAILURES);
    if counts.iter().any(|count| *count > rows)
        || failures.len() as u64 > counts[1]
        || failures.iter().any(|one| one.offset >= rows)
    {
        return Err(refused("has counts that do not fit its rows"));
    }
    for failure in failures {
        failure.fragment = part.fragment;
        let end = failure.message.floor_char_boundary(MOST_MESSAGE);
        failure.message.truncate(end);
    }
    Ok(Staged {
        group: DataReplacementGroup(part.fragment, file),
        basis: Basis::of(fragment.metadata(), &binding.inputs.field_ids()),
        deletions: fragment.metadata().deletion_file.clone(),
        tally,
    })
}

async fn metadata(dataset: &Dataset, file: &str) -> Result<CachedFileMetadata> {
    let scheduler = ScanScheduler::new(
        dataset.object_store(None).await?,
        SchedulerConfig::new(READ_AHEAD_BYTES),
    );
    let path = dataset.data_dir().join(file);
    let file = scheduler
        .open_file(&path, &CachedFileSize::unknown())
        .await
        .map_err(|error| match error.is_not_found() {
            true => Error::invalid(format!(
                "a worker's file is not at {path}: workers have to write where the server reads the \
                 table"
            )),
            false => error.into(),
        })?;
    Ok(FileReader::read_all_metadata(&file).await?)
}
