//! Pushing and reading at different speeds.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::ipc::writer::StreamWriter;
use futures::FutureExt;

use super::*;
use crate::memory::Budget;

fn memory() -> Memory {
    Memory::new(Budget::new(1 << 30, None, None, None))
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
}

/// A stream of batches of these sizes in bytes, split into messages; the schema is the first.
fn messages(sizes: &[usize]) -> Vec<Vec<u8>> {
    let batch = |bytes: usize| {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![7; bytes / 8]));
        RecordBatch::try_from_iter([("n", numbers)]).unwrap()
    };
    let mut writer = StreamWriter::try_new(Vec::new(), &batch(0).schema()).unwrap();
    let mut cut = vec![std::mem::take(writer.get_mut())];
    for size in sizes {
        writer.write(&batch(*size)).unwrap();
        cut.push(std::mem::take(writer.get_mut()));
    }
    cut
}

#[test]
fn messages_arrive_in_order_and_the_end_is_repeated() {
    let (push, mut read) = upload(&memory());
    for message in messages(&[800, 80]) {
        push.push(&message);
    }
    push.finish();
    runtime().block_on(async {
        for length in [0, 800, 80] {
            let message = read.next().await.unwrap().unwrap();
            assert!((length..length + 64).contains(&message.body.len()));
        }
        assert!(read.next().await.unwrap().is_none());
        assert!(read.next().await.unwrap().is_none());
    });
}

#[test]
fn an_abort_is_not_an_end() {
    let (push, mut read) = upload(&memory());
    push.abort();
    assert!(runtime().block_on(read.next()).is_err());
}

#[test]
fn messages_before_a_malformed_one_are_read_before_its_error() {
    let (push, mut read) = upload(&memory());
    for message in messages(&[80]) {
        push.push(&message);
    }
    // Longer than the limit of metadata.
    push.push(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]);
    assert!(push.push(b"nothing more is read"));
    push.finish();
    runtime().block_on(async {
        assert!(read.next().await.unwrap().is_some());
        assert!(read.next().await.unwrap().is_some());
        let Err(error) = read.next().await else {
            panic!("it was read");
        };
        assert!(error.message().contains("Arrow IPC stream"), "{error}");
    });
}

#[test]
fn a_full_queue_asks_for_a_pause_until_it_has_drained() {
    let (push, mut read) = upload(&memory());
    let mebibytes = messages(&[1 << 20; 10]);
    let pauses = mebibytes.iter().filter(|one| !push.push(one)).count();
    assert!(pauses > 0);
    runtime().block_on(async {
        let mut waited = 0;
        for _ in &mebibytes {
            waited += usize::from(push.drained().now_or_never().is_none());
            read.next().await.unwrap();
        }
        assert!((8..11).contains(&waited), "{waited}");
        push.drained().await;
    });
}

/// A message that is longer than the queue must be received completely before it is read.
#[test]
fn a_message_longer_than_the_queue_is_received() {
    let (push, mut read) = upload(&memory());
    let [schema, long] = &messages(&[3 * HIGH_WATER])[..] else {
        panic!("there are two messages");
    };
    push.push(schema);
    runtime().block_on(async {
        read.next().await.unwrap();
        let pushing = async {
            for chunk in long.chunks(1 << 20) {
                if !push.push(chunk) {
                    push.drained().await;
                }
            }
        };
        let (message, ()) = tokio::join!(read.next(), pushing);
        assert!(message.unwrap().unwrap().body.len() >= 3 * HIGH_WATER);
    });
}

#[test]
fn a_dropped_reader_releases_a_paused_pusher() {
    let (push, read) = upload(&memory());
    let refused = messages(&[HIGH_WATER]).iter().any(|one| !push.push(one));
    assert!(refused);
    assert!(push.drained().now_or_never().is_none());
    drop(read);
    assert!(push.drained().now_or_never().is_some());
    assert!(push.push(b"more"));
}

#[test]
fn a_message_holds_its_memory_and_no_more() {
    let memory = memory();
    let taken = || memory.usage().taken.uploads as usize;
    let (push, mut read) = upload(&memory);
    let cut = messages(&[8_000, 80_000]);
    let whole = cut.concat();
    // The last message is incomplete.
    push.push(&whole[..whole.len() - 10]);
    runtime().block_on(async {
        // A schema has no body.
        drop(read.next().await.unwrap().unwrap());
        let first = read.next().await.unwrap().unwrap();
        assert_eq!(taken(), whole.len() - 10 - cut[0].len());
        drop(first);
        assert!((70_000..81_000).contains(&taken()), "{}", taken());
    });
    drop((push, read));
    assert_eq!(taken(), 0);
}

#[test]
fn a_chunk_without_memory_waits_with_its_pusher() {
    let memory = memory();
    let work = memory.budget().work;
    let (push, mut read) = upload(&memory);
    let [schema, batch] = &messages(&[8_000])[..] else {
        panic!("there are two messages");
    };
    let held = memory.try_take(Use::Query, work - schema.len()).unwrap();
    assert!(push.push(schema));
    assert!(!push.push(batch));
    runtime().block_on(async {
        read.next().await.unwrap().unwrap();
        let (next, ()) = tokio::join!(read.next(), async { drop(held) });
        assert!(next.unwrap().is_some());
        push.drained().await;
    });
}
