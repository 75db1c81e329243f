//! Segments that do not fit their order.

use joust_core::jobs::remote::{Part, RemoteWork};
use joust_core::{Code, WorkContext};
use serde_json::{Value, json};

use super::{Place, build, nothing, spec, worker};
use crate::orders::next_order;

#[tokio::test(flavor = "multi_thread")]
async fn segments_that_do_not_fit_are_refused() {
    let place = Place::new().await;
    build(&place.table, &spec("n", "BTREE"), nothing)
        .await
        .unwrap();
    let older = worker::uuids(&place.table).await.remove(0);
    build(&place.table, &spec("n", "BTREE"), nothing)
        .await
        .unwrap();
    let existing = worker::uuids(&place.table).await.remove(0);
    let spec = spec("n", "BTREE");
    let remote = RemoteWork::new(0);
    let context = WorkContext::default();
    let deliver = async {
        let (_, order) = next_order(&remote, 0).await;
        let mut parts = Vec::new();
        for task in &order.tasks {
            parts.push(worker::part(&order, task).await);
        }
        let (first, second) = (&parts[0], &parts[1]);
        let refused = async |change: &dyn Fn(&mut Value)| {
            let mut result = first.result.clone();
            change(&mut result);
            let part = Part {
                key: first.key.clone(),
                result,
            };
            let error = remote.deliver(part).await.unwrap_err();
            assert_eq!(error.code(), Code::InvalidInput);
            error.message().to_string()
        };
        type Change<'a> = Box<dyn Fn(&mut Value) + 'a>;
        let set = |name: &'static str, value: Value| -> Change<'_> {
            Box::new(move |part: &mut Value| part[name] = value.clone())
        };
        let other = second.result["fragments"].clone();
        let cases: Vec<(Change<'_>, &str)> = vec![
            (set("uuid", existing.clone().into()), "belongs to a version"),
            (set("uuid", older.clone().into()), "older than its order"),
            (set("fields", json!([1])), "another column"),
            (set("fragments", other), "other fragments"),
            (set("dataset_version", 1.into()), "another version"),
            (set("index_version", 99.into()), "another type"),
            (
                set("type_url", "/lance.table.BitmapIndexDetails".into()),
                "another type",
            ),
            (set("details", "CAE=".into()), "other parameters"),
            (set("files", json!([])), "no files"),
            (
                set("files", json!([{"path": "../x", "size": 1}])),
                "invalid name",
            ),
            (
                set("files", json!([{"path": "x.lance", "size": 1}])),
                "is not at",
            ),
            (
                Box::new(|part| part["files"][0]["size"] = 1.into()),
                "another size",
            ),
            (set("uuid", 5.into()), "invalid"),
        ];
        for (change, message) in cases {
            let found = refused(&*change).await;
            assert!(found.contains(message), "{message}: {found}");
        }
        // A file that was cut off has the size that its worker says.
        let directory = format!(
            "{}/_indices/{}",
            place.location,
            first.result["uuid"].as_str().unwrap()
        );
        let path = format!(
            "{directory}/{}",
            first.result["files"][0]["path"].as_str().unwrap()
        );
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, vec![0; whole.len()]).unwrap();
        let found = refused(&|_| {}).await;
        assert!(found.contains("damaged"), "{found}");
        std::fs::write(&path, whole).unwrap();
        assert!(remote.deliver(first.clone()).await.unwrap());
        // Two tasks cannot have the same segment.
        let mut twice = second.clone();
        twice.result["uuid"] = first.result["uuid"].clone();
        let error = remote.deliver(twice).await.unwrap_err();
        assert!(error.message().contains("another task"), "{error}");
        for part in &parts[1..] {
            assert!(remote.deliver(part.clone()).await.unwrap());
        }
        std::future::pending::<()>().await;
    };
    let built = tokio::select! {
        built = place.table.build_index(&spec, Some(&remote), &context) => built.unwrap(),
        () = deliver => unreachable!(),
    };
    assert_eq!(built.remote_segments, 4);
    assert_eq!(worker::directories(&place.location).len(), 3);
}
