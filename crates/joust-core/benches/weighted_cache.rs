//! The weighted cache beside `quick_cache` and `moka`: the time of a hit and of an eviction, and the values that are made
//! again.
//!
//! `npm run bench -- --caches` runs it and prints a table. The keys are like those of the engine. Half of them have the
//! version of a table, such as those of filters, opened indexes and rows: a commit gives them new keys. The others name
//! files, such as those of text segments and fragments: they stay. The values that are counted are few and large.

#![allow(clippy::print_stdout)]

#[allow(dead_code, unused_imports)]
#[path = "../src/weighted_cache.rs"]
mod weighted_cache;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use moka::policy::EvictionPolicy;
use weighted_cache::WeightedCache;

/// What the cache takes from the engine.
mod error {
    pub type Result<T> = std::result::Result<T, super::Error>;
}
use error::Result;

pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// A value of a table, and the version of the table or 0.
type Key = (u64, u64);
/// A value is its weight, in bytes.
type Value = Arc<u64>;

const CAPACITY: u64 = 1 << 30;
const HITS: u64 = 2_000_000;
const READS: u64 = 200_000;
const READS_PER_COMMIT: u64 = 1_000;
const TABLES: u64 = 4;
const SMALL_VALUES: u64 = 100_000;

enum Cache {
    Own(WeightedCache<Key, Value>),
    Quick(quick_cache::sync::Cache<Key, Value, AtMost>),
    Moka(moka::future::Cache<Key, Value>),
}

/// The weight of a value, up to a limit: `quick_cache` does not keep a value that is heavier than its part for values
/// that were used again.
#[derive(Clone)]
struct AtMost(u64);

impl quick_cache::Weighter<Key, Value> for AtMost {
    fn weight(&self, _: &Key, value: &Value) -> u64 {
        (**value).min(self.0)
    }
}

impl Cache {
    fn all() -> Result<[(&'static str, Self); 6]> {
        // One shard, because a value may be a large part of the capacity.
        let quick = |hot: f64| {
            let options = quick_cache::OptionsBuilder::new()
                .shards(1)
                .estimated_items_capacity(1_000)
                .weight_capacity(CAPACITY)
                .hot_allocation(hot)
                .build()
                .map_err(|error| format!("{error:?}"))?;
            Ok::<_, Error>(Self::Quick(quick_cache::sync::Cache::with_options(
                options,
                AtMost((CAPACITY as f64 * hot) as u64),
                Default::default(),
                Default::default(),
            )))
        };
        let moka = |policy| {
            let weight = |_: &Key, value: &Value| (**value).min(CAPACITY) as u32;
            let builder = moka::future::Cache::builder().max_capacity(CAPACITY);
            Self::Moka(builder.weigher(weight).eviction_policy(policy).build())
        };
        Ok([
            ("joust", Self::Own(WeightedCache::new(CAPACITY as usize))),
            ("quick_cache, 97 % hot", quick(0.97)?),
            ("quick_cache, 80 % hot", quick(0.8)?),
            ("quick_cache, 50 % hot", quick(0.5)?),
            ("moka, LRU", moka(EvictionPolicy::lru())),
            ("moka, TinyLFU", moka(EvictionPolicy::tiny_lfu())),
        ])
    }

    /// The value of a key. If it is not cached, it is made and counted.
    async fn get(&self, key: Key, weight: u64, made: &AtomicU64) -> Result<Value> {
        let make = || {
            made.fetch_add(1, Ordering::Relaxed);
            Arc::new(weight)
        };
        match self {
            Self::Own(cache) => {
                let value = cache.get(&key, async || Ok((make(), weight as usize)));
                value.await
            }
            Self::Quick(cache) => {
                let value = cache.get_or_insert_async(&key, async { Ok::<_, Error>(make()) });
                value.await
            }
            Self::Moka(cache) => {
                let value = cache.try_get_with_by_ref(&key, async { Ok::<_, Error>(make()) });
                value.await.map_err(|error| error.to_string().into())
            }
        }
    }
}

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()?;
    println!(
        "{:<24}{:>10}{:>15}{:>14}{:>20}{:>20}{:>20}{:>20}",
        "",
        "hit, ns",
        "2 threads, ns",
        "eviction, ns",
        "made, 70 % full",
        "made, 105 % full",
        "heavy, 70 % full",
        "made, too heavy"
    );
    for (name, cache) in Cache::all()? {
        let cache = Arc::new(cache);
        let alone = runtime.block_on(hits(&cache))?;
        let both = runtime.block_on(async {
            let [one, other] = [cache.clone(), cache.clone()]
                .map(|cache| tokio::spawn(async move { hits(&cache).await }));
            Ok::<_, Error>((one.await?? + other.await??) / 2.0)
        })?;
        let most = runtime.block_on(reads(&cache, 70, 10))?;
        let more = runtime.block_on(reads(&cache, 105, 10))?;
        let one_each = runtime.block_on(reads(&cache, 70, 1))?;
        let eviction = runtime.block_on(evictions(&cache))?;
        let too_heavy = runtime.block_on(too_heavy(&cache))?;
        println!(
            "{name:<24}{alone:>10.0}{both:>15.0}{eviction:>14.0}{most:>20.1}{more:>20.1}{one_each:>20.1}{too_heavy:>20}"
        );
    }
    Ok(())
}

/// Nanoseconds of a hit.
async fn hits(cache: &Cache) -> Result<f64> {
    let made = AtomicU64::new(0);
    let key = |n: u64| (n % 64, 0);
    for n in 0..64 {
        cache.get(key(n), 1_000, &made).await?;
    }
    let begin = Instant::now();
    for n in 0..HITS {
        std::hint::black_box(cache.get(key(n), 1_000, &made).await?);
    }
    Ok(begin.elapsed().as_nanos() as f64 / HITS as f64)
}

/// Nanoseconds to make a small value and to cache it in place of another one, while many are cached.
async fn evictions(cache: &Cache) -> Result<f64> {
    let made = AtomicU64::new(0);
    let weight = CAPACITY / SMALL_VALUES;
    let key = |n: u64| (n, u64::MAX);
    for n in 0..SMALL_VALUES {
        cache.get(key(n), weight, &made).await?;
    }
    let new = SMALL_VALUES;
    let begin = Instant::now();
    for n in SMALL_VALUES..SMALL_VALUES + new {
        cache.get(key(n), weight, &made).await?;
    }
    Ok(begin.elapsed().as_nanos() as f64 / new as f64)
}

/// The number of values that 1,000 reads make, with a commit to one of the tables. The values of the newest versions fill
/// a part of the cache, in percent; each table has as many as `values` says. With one value, four heavy ones fill the
/// cache, and a commit gives one of them a new key.
async fn reads(cache: &Cache, percent: u64, values: u64) -> Result<f64> {
    let mut random = SplitMix64(7);
    // No earlier call has used these versions.
    let mut versions = [(percent * 100 + values) << 32; TABLES as usize];
    // Values weigh 1, 3, 5 or 7 parts.
    let parts = |value: u64| value % 4 * 2 + 1;
    let part = CAPACITY * percent / 100 / TABLES / (0..values).map(parts).sum::<u64>();
    let made = AtomicU64::new(0);
    for read in 1..=READS {
        if read % READS_PER_COMMIT == 0 {
            versions[(random.next() % TABLES) as usize] += 1;
        }
        let table = random.next() % TABLES;
        // Few values get most reads.
        let value = (random.next() % values).min(random.next() % values);
        let version = match value % 2 {
            0 => versions[table as usize],
            _ => 0,
        };
        let key = (((percent * TABLES + table) << 8) + value, version);
        cache.get(key, part * parts(value), &made).await?;
    }
    Ok(made.load(Ordering::Relaxed) as f64 * 1e3 / READS as f64)
}

/// How often 100 reads of a value that is heavier than the cache make it.
async fn too_heavy(cache: &Cache) -> Result<u64> {
    let made = AtomicU64::new(0);
    for _ in 0..100 {
        cache.get((u64::MAX, 0), CAPACITY + 1, &made).await?;
    }
    Ok(made.load(Ordering::Relaxed))
}

/// A random number generator that needs no crate.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}
