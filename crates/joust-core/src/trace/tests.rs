use std::time::Duration;

use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use parking_lot::Mutex;
use tokio::time::sleep;
use tracing::field::Empty;
use tracing::{error, info_span, warn};

use super::spans::MAX_SPANS;
use super::*;

fn names(spans: &[Span]) -> Vec<(&str, Option<usize>)> {
    let names = spans.iter().map(|span| (span.name, span.parent));
    names.collect()
}

/// A store of Lance with one file.
async fn store(path: &str) -> Arc<dyn ObjectStore> {
    let (store, _) = lance_io::object_store::ObjectStore::from_uri("memory://")
        .await
        .unwrap();
    let file = Path::from(path);
    store.inner.put(&file, "12345".into()).await.unwrap();
    store.inner.clone()
}

#[tokio::test]
async fn the_phases_of_a_call_are_nested_as_they_ran() {
    install();
    let trace = CallTrace::new();
    let work = async {
        let outer = async {
            sleep(Duration::from_millis(2)).await;
            async {}.instrument(info_span!("inner", rows = 3)).await;
        };
        outer.instrument(info_span!("outer")).await;
        let chosen = info_span!("chosen", strategy = Empty);
        async { _ = tracing::Span::current().record("strategy", "nearest") }
            .instrument(chosen)
            .await;
        7
    };
    assert_eq!(trace.run(work).await, 7);
    let spans = trace.end();
    let expected = [("outer", None), ("inner", Some(0)), ("chosen", None)];
    assert_eq!(names(&spans), expected);
    let [outer, inner, chosen] = &spans[..] else {
        unreachable!()
    };
    let end = |span: &Span| span.start + span.duration.unwrap();
    assert!(outer.duration.unwrap() >= Duration::from_millis(2));
    assert!(outer.start <= inner.start && end(inner) <= end(outer) && end(outer) <= chosen.start);
    assert_eq!(inner.attributes, [("rows", Value::Number(3.0))]);
    let strategy = Value::Text("nearest".to_string());
    assert_eq!(chosen.attributes, [("strategy", strategy)]);
}

#[tokio::test]
async fn calls_do_not_have_the_spans_of_one_another() {
    install();
    let (first, second) = (CallTrace::new(), CallTrace::new());
    let work = |name: &'static str| async move {
        tokio::task::yield_now().await;
        match name {
            "a" => async {}.instrument(info_span!("a")).await,
            _ => async {}.instrument(info_span!("b")).await,
        }
    };
    tokio::join!(first.run(work("a")), second.run(work("b")));
    async {}.instrument(info_span!("outside of calls")).await;
    assert_eq!(names(&first.end()), [("a", None)]);
    assert_eq!(names(&second.end()), [("b", None)]);
}

#[tokio::test]
async fn a_storage_request_is_a_span_of_its_phase() {
    install();
    let store = store("data/t.lance/x").await;
    let trace = CallTrace::new();
    let work = async {
        let read = async { store.get(&Path::from("data/t.lance/x")).await };
        let opened = read.instrument(info_span!("open version"));
        opened.await.unwrap();
    };
    trace.run(work).await;
    let spans = trace.end();
    assert_eq!(names(&spans), [("open version", None), ("GET", Some(0))]);
    assert!(spans[1].is_storage_request && !spans[0].is_storage_request);
    let path = Value::Text("data/t.lance/x".to_string());
    let expected = [("path", path), ("size", Value::Number(5.0))];
    assert_eq!(spans[1].attributes, expected);
}

/// As Lance's scheduler does it: the task has no span.
#[tokio::test]
async fn a_background_request_belongs_to_the_calls_that_read_its_table() {
    install();
    let store = store("warehouse/background.lance/x").await;
    let other = store.clone();
    let (reader, too, stranger) = (CallTrace::new(), CallTrace::new(), CallTrace::new());
    let table = "s3://bucket/warehouse/background.lance";
    reader.run(async { reads(table) }).await;
    too.run(async { reads(table) }).await;
    let prefix = "s3://bucket/warehouse/background";
    stranger.run(async { reads(prefix) }).await;
    let read = async move {
        let path = Path::from("warehouse/background.lance/x");
        other.get(&path).await.unwrap();
    };
    tokio::spawn(read).await.unwrap();
    for trace in [reader, too] {
        let spans = trace.end();
        assert_eq!(names(&spans), [("GET", None)]);
        assert_eq!(spans[0].attributes[1], ("size", Value::Number(5.0)));
    }
    assert_eq!(stranger.end(), []);
}

#[tokio::test]
async fn a_long_call_says_how_many_spans_are_missing() {
    install();
    let trace = CallTrace::new();
    let work = async {
        for _ in 0..MAX_SPANS + 5 {
            async {}.instrument(info_span!("step")).await;
        }
    };
    trace.run(work).await;
    let spans = trace.end();
    assert_eq!(spans.len(), MAX_SPANS);
    let omitted = ("omitted_spans", Value::Number(5.0));
    assert_eq!(spans.last().unwrap().attributes, [omitted]);
}

#[tokio::test]
async fn a_phase_that_is_still_open_ends_with_the_call() {
    install();
    let trace = CallTrace::new();
    let open = trace.span().in_scope(|| info_span!("stream"));
    sleep(Duration::from_millis(2)).await;
    let spans = trace.end();
    assert!(spans[0].duration.unwrap() >= Duration::from_millis(2));
    drop(open);
}

#[test]
fn warnings_and_errors_are_lines_of_the_log() {
    static LINES: Mutex<Vec<LogLine>> = Mutex::new(Vec::new());
    // The place logs before and after the log is forwarded.
    let warn = |requested| warn!(requested, name = "size", "the size is reduced");
    warn(1);
    forward_log(Box::new(|line| LINES.lock().push(line)));
    warn(2);
    error!("failed");
    tracing::info!("not a line");
    let line = |is_error, message: &str, values: &[(&'static str, &str)]| LogLine {
        is_error,
        module: "joust_core::trace::tests".to_string(),
        message: message.to_string(),
        values: values
            .iter()
            .map(|(name, value)| (*name, (*value).to_string()))
            .collect(),
    };
    let reduced = [("requested", "2"), ("name", "size")];
    let expected = [
        line(false, "the size is reduced", &reduced),
        line(true, "failed", &[]),
    ];
    let module = module_path!();
    let own = LINES
        .lock()
        .iter()
        .filter(|line| line.module == module)
        .cloned()
        .collect::<Vec<_>>();
    assert_eq!(own, expected);
}

#[tokio::test]
async fn values_that_only_debug_prints_are_left_out() {
    install();
    let trace = CallTrace::new();
    let secret = vec!["secret"];
    let span = info_span!("phase", ?secret);
    trace.run(async {}).await;
    drop(span);
    let work = async {}.instrument(trace.span().in_scope(|| info_span!("phase", ?secret)));
    work.await;
    assert_eq!(trace.end()[0].attributes, []);
}
