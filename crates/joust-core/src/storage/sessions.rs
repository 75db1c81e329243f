//! Lance sessions: one cache budget for all tables, and separate cache keys for each incarnation of a table.
//!
//! Lance keys some cached entries by a table's URI and version only. A table that is dropped and
//! created again has the same URI and starts at version 1 again, so a shared session would answer
//! questions about the new table with facts about the old one. Every time a table is opened anew it
//! therefore gets a session whose keys are salted. The entries of its predecessor are never found again
//! and are evicted by age.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use lance::Result;
use lance::session::{CacheSpec, Session};
use lance_core::cache::{
    CacheBackend, CacheCodec, CacheEntry, CacheTier, InternalCacheKey, QuickCacheBackend,
    QuickCacheShardPolicy,
};
use lance_io::object_store::ObjectStoreRegistry;

use crate::memory::Budget;
use crate::storage::Durability;

/// Opens Lance sessions: the index and metadata caches and the store connections of an engine.
pub struct Sessions {
    index: Arc<dyn CacheBackend>,
    metadata: Arc<dyn CacheBackend>,
    stores: Arc<ObjectStoreRegistry>,
    durability: Durability,
}

impl Sessions {
    pub fn new(budget: &Budget, durability: Durability) -> Self {
        Self {
            // One shard: an index partition may be a large part of the budget.
            index: Arc::new(QuickCacheBackend::with_shard_policy(
                budget.index_cache,
                QuickCacheShardPolicy::Single,
            )),
            metadata: Arc::new(QuickCacheBackend::with_shard_policy(
                budget.metadata_cache,
                QuickCacheShardPolicy::Recommended,
            )),
            stores: Arc::new(durability.stores()),
            durability,
        }
    }

    /// What an answered write means to the tables of these sessions.
    pub fn durability(&self) -> Durability {
        self.durability
    }

    pub fn stores(&self) -> Arc<ObjectStoreRegistry> {
        self.stores.clone()
    }

    /// A session that shares the budgets and sees no entries of other sessions.
    pub fn session(&self) -> Arc<Session> {
        let salt = *uuid::Uuid::new_v4().as_bytes();
        let view = |backend: &Arc<dyn CacheBackend>| {
            CacheSpec::Backend(Arc::new(Salted {
                backend: backend.clone(),
                salt,
            }))
        };
        Arc::new(Session::with_cache_backends(
            view(&self.index),
            view(&self.metadata),
            self.stores.clone(),
        ))
    }
}

/// A view of a cache whose keys no other view has.
struct Salted {
    backend: Arc<dyn CacheBackend>,
    salt: [u8; 16],
}

impl Salted {
    fn key(&self, key: &InternalCacheKey) -> InternalCacheKey {
        let mut bytes = *key.as_bytes();
        for (byte, salt) in bytes.iter_mut().zip(self.salt) {
            *byte ^= salt;
        }
        InternalCacheKey::from_bytes(bytes)
    }
}

impl fmt::Debug for Salted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.backend.fmt(f)
    }
}

#[async_trait]
impl CacheBackend for Salted {
    async fn get_resident(&self, key: &InternalCacheKey) -> Option<CacheEntry> {
        self.backend.get_resident(&self.key(key)).await
    }

    async fn peek_resident(&self, key: &InternalCacheKey) -> bool {
        self.backend.peek_resident(&self.key(key)).await
    }

    async fn peek_tier(&self, key: &InternalCacheKey) -> CacheTier {
        self.backend.peek_tier(&self.key(key)).await
    }

    fn plane_admission_gated(&self) -> bool {
        self.backend.plane_admission_gated()
    }

    async fn get(&self, key: &InternalCacheKey, codec: Option<CacheCodec>) -> Option<CacheEntry> {
        self.backend.get(&self.key(key), codec).await
    }

    async fn insert(
        &self,
        key: &InternalCacheKey,
        entry: CacheEntry,
        size_bytes: usize,
        codec: Option<CacheCodec>,
    ) {
        self.backend
            .insert(&self.key(key), entry, size_bytes, codec)
            .await;
    }

    async fn get_or_insert<'a>(
        &self,
        key: &InternalCacheKey,
        loader: Pin<Box<dyn Future<Output = Result<(CacheEntry, usize)>> + Send + 'a>>,
        codec: Option<CacheCodec>,
    ) -> Result<(CacheEntry, bool)> {
        self.backend
            .get_or_insert(&self.key(key), loader, codec)
            .await
    }

    /// Does nothing: the entries of one view cannot be separated from those of others. They are evicted by age.
    async fn clear(&self) {}

    async fn num_entries(&self) -> usize {
        self.backend.num_entries().await
    }

    async fn size_bytes(&self) -> usize {
        self.backend.size_bytes().await
    }

    fn approx_num_entries(&self) -> usize {
        self.backend.approx_num_entries()
    }

    fn approx_size_bytes(&self) -> usize {
        self.backend.approx_size_bytes()
    }

    fn capacity_bytes(&self) -> Option<usize> {
        self.backend.capacity_bytes()
    }
}
