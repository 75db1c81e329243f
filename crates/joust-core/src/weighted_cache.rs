//! A cache with a limit of the total weight.

use std::hash::{Hash, RandomState};
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use crate::error::Result;

/// Weight of an entry besides its value.
const FIXED: usize = 256;

/// Values by key, up to a total weight; the least recently used are evicted first. If several callers request the same
/// missing value, one computes it and the others wait for it.
///
/// Values are cheap to clone (an `Arc`): the cache clones them while it is locked.
pub struct WeightedCache<K, V> {
    slots: Mutex<Slots<K, V>>,
    capacity: usize,
}

struct Slots<K, V> {
    /// Keys contain filters that clients send, so the hash function is one that resists chosen keys.
    by_key: LruCache<K, Slot<V>, RandomState>,
    weight: usize,
}

struct Slot<V> {
    cell: Arc<OnceCell<V>>,
    /// 0 while the value is being computed.
    weight: usize,
}

impl<K: Eq + Hash + Clone, V: Clone> WeightedCache<K, V> {
    pub fn new(capacity: usize) -> Self {
        Self {
            slots: Mutex::new(Slots {
                by_key: LruCache::unbounded_with_hasher(RandomState::new()),
                weight: 0,
            }),
            capacity,
        }
    }

    /// The limit of the total weight.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The value, if it is cached. This counts as a use.
    pub fn cached(&self, key: &K) -> Option<V> {
        self.slots.lock().by_key.get(key)?.cell.get().cloned()
    }

    /// The value of a key; `make` returns it with its weight, to which a fixed weight is added. A value that is heavier
    /// than the capacity is cached without others, until another one is computed.
    pub async fn get(&self, key: &K, make: impl AsyncFnOnce() -> Result<(V, usize)>) -> Result<V> {
        if let Some(value) = self.cached(key) {
            return Ok(value);
        }
        // Boxed, so that the future of a cache hit is small.
        Box::pin(self.computed(key, make)).await
    }

    async fn computed(&self, key: &K, make: impl AsyncFnOnce() -> Result<(V, usize)>) -> Result<V> {
        let making = Making {
            cache: self,
            key,
            cell: self.cell(key),
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
            drop(self.weigh(key, &making.cell, weight + FIXED));
        }
        Ok(value)
    }

    fn cell(&self, key: &K) -> Arc<OnceCell<V>> {
        let mut slots = self.slots.lock();
        let slot = slots.by_key.get_or_insert_mut_ref(key, || Slot {
            cell: Arc::new(OnceCell::new()),
            weight: 0,
        });
        slot.cell.clone()
    }

    /// Counts a new value, and returns those that it evicted: the caller drops them, which may take long, while the
    /// slots are not locked.
    fn weigh(&self, key: &K, cell: &Arc<OnceCell<V>>, weight: usize) -> Vec<Slot<V>> {
        let mut slots = self.slots.lock();
        // A slot without a weight is not evicted. Should it be missing all the same, the value is not cached.
        let Some(slot) = slots
            .by_key
            .get_mut(key)
            .filter(|slot| Arc::ptr_eq(&slot.cell, cell))
        else {
            return Vec::new();
        };
        slot.weight = weight;
        slots.weight += weight;
        let mut kept = Vec::new();
        let mut evicted = Vec::new();
        while slots.weight > self.capacity
            && let Some((oldest, slot)) = slots.by_key.pop_lru()
        {
            let is_new = Arc::ptr_eq(&slot.cell, cell);
            if is_new || slot.weight == 0 {
                kept.push((oldest, slot));
            } else {
                slots.weight -= slot.weight;
                evicted.push(slot);
            }
            // The new value is the most recently used one: no other is left.
            if is_new {
                break;
            }
        }
        for (key, slot) in kept {
            slots.by_key.put(key, slot);
        }
        evicted
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
        let own = |slot: &&Slot<V>| Arc::ptr_eq(&slot.cell, &cell);
        if slots.by_key.peek(self.key).filter(own).is_none() {
            // The value in the cell may be large, and is dropped here if it was evicted.
            drop(slots);
            return;
        }
        // While the slots are locked, so that exactly the last caller removes the slot.
        drop(cell);
        let is_abandoned =
            |slot: &&Slot<V>| !slot.cell.initialized() && Arc::strong_count(&slot.cell) == 1;
        if slots.by_key.peek(self.key).filter(is_abandoned).is_some() {
            slots.by_key.pop(self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::sync::Weak;
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
        assert_eq!(
            slots.by_key.iter().map(|(key, _)| key).collect::<Vec<_>>(),
            [&3]
        );
    }

    #[test]
    fn the_least_recently_used_value_is_evicted_first() {
        let cache = WeightedCache::new(3_000);
        for key in [1, 2] {
            block(cache.get(&key, async || Ok((key, 1_000)))).unwrap();
        }
        assert_eq!(cache.cached(&1), Some(1));
        block(cache.get(&3, async || Ok((3, 1_000)))).unwrap();
        assert_eq!(
            (cache.cached(&1), cache.cached(&2), cache.cached(&3)),
            (Some(1), None, Some(3))
        );
        assert_eq!(cache.slots.lock().weight, 2 * (1_000 + FIXED));
    }

    #[test]
    fn a_value_that_is_heavier_than_the_cache_evicts_the_others_but_not_itself() {
        let cache = WeightedCache::new(10_000);
        block(cache.get(&1, async || Ok((1, 1_000)))).unwrap();
        block(async {
            // This computation begins first and ends last.
            let slow = cache.get(&2, async || {
                tokio::task::yield_now().await;
                Ok((2, 1_000))
            });
            let heavy = async {
                let heavy = cache.get(&3, async || Ok((3, 1_000_000))).await;
                assert_eq!((cache.cached(&1), cache.cached(&3)), (None, Some(3)));
                heavy
            };
            let (slow, heavy) = tokio::join!(slow, heavy);
            assert_eq!((slow.unwrap(), heavy.unwrap()), (2, 3));
        });
        assert_eq!((cache.cached(&2), cache.cached(&3)), (Some(2), None));
        assert_eq!(cache.slots.lock().weight, 1_000 + FIXED);
    }

    #[test]
    fn values_are_dropped_while_the_cache_is_not_locked() {
        /// Uses its cache when it is dropped.
        struct Watched(Weak<WeightedCache<u8, Arc<Watched>>>, Arc<AtomicUsize>);

        impl Drop for Watched {
            fn drop(&mut self) {
                let Some(cache) = self.0.upgrade() else {
                    return;
                };
                if cache.slots.try_lock().is_some() {
                    self.1.fetch_add(1, Ordering::Relaxed);
                }
            }
        }

        let cache = Arc::new(WeightedCache::new(2_000));
        let dropped = Arc::new(AtomicUsize::new(0));
        let value = || {
            (
                Arc::new(Watched(Arc::downgrade(&cache), dropped.clone())),
                1_000,
            )
        };
        block(async {
            let mut maker = Box::pin(cache.get(&1, async || {
                tokio::task::yield_now().await;
                Ok(value())
            }));
            let mut waiter = Box::pin(cache.get(&1, async || Ok(value())));
            assert!(futures::poll!(&mut maker).is_pending());
            assert!(futures::poll!(&mut waiter).is_pending());
            drop(maker.await.unwrap());
            drop(cache.get(&2, async || Ok(value())).await.unwrap());
            assert_eq!(
                dropped.load(Ordering::Relaxed),
                0,
                "the waiter has the value"
            );
            let mut again = Box::pin(cache.get(&1, std::future::pending));
            assert!(futures::poll!(&mut again).is_pending());
            drop(waiter);
            assert_eq!(dropped.load(Ordering::Relaxed), 1);
        });
        drop(block(cache.get(&3, async || Ok(value()))).unwrap());
        assert_eq!(dropped.load(Ordering::Relaxed), 2);
    }
}
