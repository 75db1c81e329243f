use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use arrow::array::{ArrayRef, BinaryArray};
use tokio::sync::oneshot;

use super::*;
use crate::memory::{Budget, Memory, Use};

/// An upload of one row of this size, and the receiver of its answer.
fn upload(bytes: usize) -> (Waiting, oneshot::Receiver<Result<Written>>) {
    let value: ArrayRef = Arc::new(BinaryArray::from_iter_values([vec![0; bytes]]));
    let batch = RecordBatch::try_from_iter([("value", value)]).unwrap();
    let memory = Memory::new(Budget::new(1 << 30, None, None, None));
    let rows = Rows::Gathered {
        schema: batch.schema(),
        batches: vec![batch],
        bytes,
        _memory: memory.try_take(Use::Upload, bytes).unwrap(),
    };
    Waiting::with_receiver(rows)
}

fn push(queue: &Queue, bytes: usize) -> Result<bool> {
    let (waiting, mut answer) = upload(bytes);
    let is_first = queue.push(waiting);
    match answer.try_recv() {
        Ok(refused) => refused.map(|_| false),
        Err(_) => Ok(is_first),
    }
}

fn is_ready(future: std::pin::Pin<&mut impl Future<Output = ()>>) -> bool {
    future.poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(())
}

#[test]
fn the_first_upload_starts_a_committer_until_the_queue_is_empty() {
    let queue = Queue::default();
    assert!(push(&queue, 1).unwrap());
    assert!(!push(&queue, 1).unwrap());
    assert_eq!(queue.take().unwrap().len(), 2);
    assert!(!push(&queue, 1).unwrap(), "a committer is running");
    assert_eq!(queue.take().unwrap().len(), 1);
    assert!(queue.take().is_none());
    assert!(push(&queue, 1).unwrap());
}

#[test]
fn a_group_has_a_maximum_of_bytes_and_at_least_one_upload() {
    let queue = Queue::default();
    for bytes in [MAX_GROUP_BYTES / 2, MAX_GROUP_BYTES / 3, MAX_GROUP_BYTES, 1] {
        push(&queue, bytes).unwrap();
    }
    let groups: Vec<_> = std::iter::from_fn(|| queue.take().map(|group| group.len())).collect();
    assert_eq!(groups, [2, 1, 1]);
}

#[test]
fn a_full_queue_refuses_uploads_until_it_drains() {
    let queue = Queue::default();
    for _ in 0..MAX_WAITING {
        push(&queue, 1).unwrap();
    }
    assert_eq!(push(&queue, 1).unwrap_err().code(), Code::Throttling);
    queue.take().unwrap();
    push(&queue, MAX_WAITING_BYTES).unwrap();
    assert_eq!(push(&queue, 1).unwrap_err().code(), Code::Throttling);
    queue.take().unwrap();
    push(&queue, 1).unwrap();
}

#[test]
fn a_wait_for_many_uploads_ends_when_they_are_queued() {
    let queue = Queue::default();
    let mut many = pin!(queue.many(3));
    for _ in 0..3 {
        assert!(!is_ready(many.as_mut()));
        push(&queue, 1).unwrap();
    }
    assert!(is_ready(many.as_mut()));
    assert!(is_ready(pin!(queue.many(2))), "more are there already");
    // A cancelled wait does not block others.
    assert!(!is_ready(pin!(queue.many(4))));
    let mut more = pin!(queue.many(5));
    push(&queue, 1).unwrap();
    assert!(!is_ready(more.as_mut()));
    push(&queue, 1).unwrap();
    assert!(is_ready(more.as_mut()));
}

#[tokio::test]
async fn an_upload_is_answered_with_its_version_or_an_error() {
    let (waiting, answer) = upload(1);
    waiting.written(7);
    let written = answer.await.unwrap().unwrap();
    assert_eq!((written.version, written.num_rows), (7, 1));
    let (waiting, answer) = upload(1);
    waiting.refused(Error::invalid("it is bad"));
    assert!(answer.await.unwrap().is_err());
    let (waiting, answer) = upload(1);
    drop(waiting);
    let lost = answer.await.unwrap().unwrap_err();
    assert_eq!(lost.code(), Code::ServiceUnavailable);
}

#[test]
fn uploads_of_a_lost_committer_are_refused_and_another_one_starts() {
    let queue = Queue::default();
    let (waiting, mut answer) = upload(1);
    assert!(queue.push(waiting));
    queue.abandon();
    assert!(answer.try_recv().unwrap().is_err());
    assert!(push(&queue, MAX_WAITING_BYTES).unwrap());
}
