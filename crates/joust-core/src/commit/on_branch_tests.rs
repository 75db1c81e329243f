//! A commit on a branch and its end exclude each other.

use std::collections::HashMap;

use lance::dataset::refs::{BranchContents, BranchIdentifier, branch_contents_path};
use lance_io::object_store::ObjectStore;
use object_store::path::Path;
use tokio::sync::oneshot;

use super::*;
use crate::error::Code;

/// A store that is notified of branches `x`.
struct Listing {
    store: Arc<ObjectStore>,
    branches: Branches,
}

impl Listing {
    fn new() -> Self {
        Self {
            store: Arc::new(ObjectStore::memory()),
            branches: Branches::default(),
        }
    }

    fn reference(&self) -> Reference {
        Reference::of(self.store.clone(), &Path::from("t"), "x")
    }

    /// As another process makes it.
    async fn make(&self) {
        let contents = BranchContents {
            parent_branch: None,
            identifier: BranchIdentifier::new(&BranchIdentifier::main(), 1),
            parent_version: 1,
            create_at: 0,
            manifest_size: 0,
            metadata: HashMap::new(),
        };
        let contents = serde_json::to_vec(&contents).unwrap();
        let path = branch_contents_path(&Path::from("t"), "x");
        self.store.put(&path, &contents).await.unwrap();
    }

    async fn open(&self) -> Result<Arc<OnBranch>> {
        OnBranch::open(&self.branches, "x", self.reference()).await
    }
}

fn is_unknown<T>(outcome: Result<T>) -> bool {
    outcome.is_err_and(|error| error.code() == Code::TableBranchNotFound)
}

#[tokio::test]
async fn a_branch_stays_until_the_commit_under_way_has_ended() {
    let listing = Listing::new();
    listing.make().await;
    let branch = listing.open().await.unwrap();
    let (begin, began) = oneshot::channel();
    let (end, ended) = oneshot::channel();
    let committing = tokio::spawn({
        let (branch, reference) = (branch.clone(), listing.reference());
        async move {
            let commit = async {
                begin.send(()).unwrap();
                ended.await.unwrap();
                reference.read().await.unwrap().is_some()
            };
            branch.commit(commit).await.unwrap()
        }
    });
    began.await.unwrap();
    let deleting = tokio::spawn({
        let (incarnation, reference) = (listing.branches.incarnation("x"), listing.reference());
        async move {
            let _commits = incarnation.without_commits().await;
            reference.remove().await.unwrap();
            incarnation.retire();
        }
    });
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    end.send(()).unwrap();
    assert!(committing.await.unwrap(), "the branch was listed");
    deleting.await.unwrap();
    assert!(branch.is_retired());
    assert!(is_unknown(branch.commit(async {}).await));
    assert!(is_unknown(listing.open().await));
}

#[tokio::test]
async fn a_branch_that_another_process_has_put_in_its_place_is_another_one() {
    let listing = Listing::new();
    listing.make().await;
    let (first, again) = (listing.open().await.unwrap(), listing.open().await.unwrap());
    assert!(first.is_same(&again));
    first.commit(async {}).await.unwrap();
    listing.make().await;
    assert!(is_unknown(first.commit(async {}).await));
    let second = listing.open().await.unwrap();
    assert!(!first.is_same(&second));
    assert!(first.is_retired() && !second.is_retired());
    second.commit(async {}).await.unwrap();
    // Also if no commit was tried before it is opened.
    listing.make().await;
    let third = listing.open().await.unwrap();
    assert!(second.is_retired() && !third.is_same(&second));
    listing.reference().remove().await.unwrap();
    assert!(is_unknown(third.commit(async {}).await));
    assert!(third.is_retired());
}
