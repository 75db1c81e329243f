use futures::FutureExt;
use futures::future::pending;
use tokio::sync::oneshot;

use super::*;

fn context() -> (WorkContext, CancellationToken) {
    let cancel = CancellationToken::new();
    (WorkContext::new(Arc::new(|_| {}), cancel.clone()), cancel)
}

#[tokio::test]
async fn work_that_is_not_cancelled_returns_its_outcome() {
    let (context, _cancel) = context();
    assert_eq!(context.run(async { Ok(3) }).await.unwrap(), 3);
}

#[tokio::test]
async fn cancelled_work_is_dropped() {
    let (context, cancel) = context();
    let (alive, dropped) = oneshot::channel::<()>();
    let mut work = Box::pin(context.run::<()>(async move {
        let _alive = alive;
        pending().await
    }));
    assert!(work.as_mut().now_or_never().is_none());
    cancel.cancel();
    let error = work.await.unwrap_err();
    assert_eq!(error.code(), Code::ServiceUnavailable);
    assert!(dropped.await.is_err());
}

#[tokio::test]
async fn cancelled_work_ends_its_commit_first() {
    let (context, cancel) = context();
    let (commit, committed) = oneshot::channel();
    context.set_committing(true);
    let mut work = Box::pin(context.run(async { Ok(committed.await.unwrap()) }));
    cancel.cancel();
    assert!(work.as_mut().now_or_never().is_none());
    commit.send(7).unwrap();
    assert_eq!(work.await.unwrap(), 7);
}

/// Another commit came first, and the work would build its change again.
#[tokio::test]
async fn cancelled_work_ends_after_a_commit_that_lost() {
    let (context, cancel) = context();
    context.set_committing(true);
    let mut work = Box::pin(context.run(pending::<Result<()>>()));
    cancel.cancel();
    assert!(work.as_mut().now_or_never().is_none());
    context.set_committing(false);
    assert!(work.await.is_err());
}
