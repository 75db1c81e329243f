//! A cache with a limit of the total weight.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::OnceCell;

use crate::error::Result;

/// Values by key, up to a total weight; the least recently used are evicted first. If several callers request the same
/// missing value, one computes it and the others wait for it.
pub struct WeightedCache<K, V> {
    slots: Mutex<Slots<K, V>>,
    capacity: usize,
}

struct Slots<K, V> {
    by_key: HashMap<K, Slot<V>>,
    weight: usize,
    clock: u64,
}

struct Slot<V> {
    cell: Arc<OnceCell<V>>,
    /// 0 while the value is being computed.
    weight: usize,
    used: u64,
}

impl<K: Eq + Hash + Clone, V: Clone> WeightedCache<K, V> {
    pub fn new(capacity: usize) -> Self {
        Self {
            slots: Mutex::new(Slots {
                by_key: HashMap::new(),
                weight: 0,
                clock: 0,
            }),
            capacity,
        }
    }

    /// The limit of the total weight.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The value of a key; `make` returns it with its weight, to which a fixed weight is added.
    pub async fn get(&self, key: &K, make: impl AsyncFnOnce() -> Result<(V, usize)>) -> Result<V> {
        let cell = self.cell(key);
        if let Some(value) = cell.get() {
            return Ok(value.clone());
        }
        // Boxed, so that the future of a cache hit is small.
        Box::pin(async {
            let making = Making {
                cache: self,
                key,
                cell,
            };
            let mut made = None;
            let value = making
                .cell
                .get_or_try_init(|| async {
                    let (value, weight) = make().await?;
                    made = Some(weight);
                    Ok::<_, crate::Error>(value)
                })
                .await?
                .clone();
            if let Some(weight) = made {
                self.weigh(key, &making.cell, weight);
            }
            Ok(value)
        })
        .await
    }

    /// The value, if it is cached.
    pub fn peek(&self, key: &K) -> Option<V> {
        let mut slots = self.slots.lock();
        slots.clock += 1;
        let now = slots.clock;
        let slot = slots.by_key.get_mut(key)?;
        slot.used = now;
        slot.cell.get().cloned()
    }

    fn cell(&self, key: &K) -> Arc<OnceCell<V>> {
        let mut slots = self.slots.lock();
        slots.clock += 1;
        let now = slots.clock;
        if let Some(slot) = slots.by_key.get_mut(key) {
            slot.used = now;
            return slot.cell.clone();
        }
        let cell = Arc::new(OnceCell::new());
        let slot = Slot {
            cell: cell.clone(),
            weight: 0,
            used: now,
        };
        slots.by_key.insert(key.clone(), slot);
        cell
    }

    fn weigh(&self, key: &K, cell: &Arc<OnceCell<V>>, weight: usize) {
        /// Weight of an entry besides its value.
        const FIXED: usize = 256;
        let mut slots = self.slots.lock();
        // The slot may have been evicted, and another created, while the value was being computed.
        let Some(slot) = slots
            .by_key
            .get_mut(key)
            .filter(|slot| Arc::ptr_eq(&slot.cell, cell))
        else {
            return;
        };
        slot.weight = weight + FIXED;
        slots.weight += weight + FIXED;
        while slots.weight > self.capacity && slots.by_key.len() > 1 {
            let oldest = slots
                .by_key
                .iter()
                .filter(|(_, slot)| slot.weight > 0)
                .min_by_key(|(_, slot)| slot.used)
                .map(|(key, _)| key.clone());
            let Some(slot) = oldest.and_then(|key| slots.by_key.remove(&key)) else {
                return;
            };
            slots.weight -= slot.weight;
        }
    }
}

/// A caller that computes a value, or waits for it.
struct Making<'a, K: Eq + Hash, V> {
    cache: &'a WeightedCache<K, V>,
    key: &'a K,
    cell: Arc<OnceCell<V>>,
}

impl<K: Eq + Hash, V> Drop for Making<'_, K, V> {
    /// Removes the slot of a failed computation: it has no weight, so eviction would never remove it.
    fn drop(&mut self) {
        let cell = std::mem::take(&mut self.cell);
        let mut slots = self.cache.slots.lock();
        let Some(slot) = slots.by_key.get(self.key) else {
            return;
        };
        let is_its_own = Arc::ptr_eq(&slot.cell, &cell);
        // While the slots are locked, so that exactly the last caller removes the slot.
        drop(cell);
        if is_its_own && !slot.cell.initialized() && Arc::strong_count(&slot.cell) == 1 {
            slots.by_key.remove(self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::FutureExt;

    use super::*;

    fn block<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
            .block_on(future)
    }

    #[test]
    fn a_value_is_made_once() {
        let cache = WeightedCache::new(10_000);
        let made = AtomicUsize::new(0);
        let get = || {
            cache.get(&1, async || {
                made.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
                Ok(("one", 0))
            })
        };
        let (a, b) = block(async { tokio::join!(get(), get()) });
        assert_eq!((a.unwrap(), b.unwrap()), ("one", "one"));
        assert_eq!(made.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_failure_is_not_cached() {
        let cache: WeightedCache<u8, u8> = WeightedCache::new(10_000);
        let failed = block(cache.get(&1, async || Err(crate::Error::invalid("no"))));
        assert!(failed.is_err());
        assert_eq!(block(cache.get(&1, async || { Ok((7, 0)) })).unwrap(), 7);
    }

    #[test]
    fn failed_and_dropped_loads_leave_no_entry() {
        let cache: WeightedCache<u8, u8> = WeightedCache::new(10_000);
        let fail = async || {
            tokio::task::yield_now().await;
            Err(crate::Error::invalid("no"))
        };
        let (a, b) = block(async { tokio::join!(cache.get(&1, fail), cache.get(&1, fail)) });
        assert!(a.is_err() && b.is_err());
        block(async {
            let dropped = cache.get(&2, std::future::pending);
            assert!(dropped.now_or_never().is_none());
            let (dropped, made) = tokio::join!(
                async { cache.get(&3, std::future::pending).now_or_never() },
                cache.get(&3, async || Ok((7, 0)))
            );
            assert!(dropped.is_none());
            assert_eq!(made.unwrap(), 7);
        });
        let slots = cache.slots.lock();
        assert_eq!(slots.by_key.keys().collect::<Vec<_>>(), [&3]);
    }

    #[test]
    fn the_least_recently_used_value_is_evicted_first() {
        let cache = WeightedCache::new(3_000);
        for key in [1, 2] {
            block(cache.get(&key, async || Ok((key, 1_000)))).unwrap();
        }
        assert_eq!(cache.peek(&1), Some(1));
        block(cache.get(&3, async || Ok((3, 1_000)))).unwrap();
        assert_eq!(
            (cache.peek(&1), cache.peek(&2), cache.peek(&3)),
            (Some(1), None, Some(3))
        );
    }
}
