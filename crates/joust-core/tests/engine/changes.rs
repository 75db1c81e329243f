//! Changes of columns, versions and branches, beyond rows.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use joust_core::table::{Alteration, Attempt, NewColumn, ReadOptions, Update};
use joust_core::{Code, Engine, EngineOptions, Result, Table, WorkContext, ipc};

use crate::sent::upload;

/// A table of three versions with the columns `n` and `m`, and the directory it is in.
async fn table() -> (Table, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let location = format!("{}/t.lance", directory.path().display());
    let table = Engine::new(EngineOptions::default()).table(&location, Default::default());
    table.create(numbers(0..3), false).await.unwrap();
    table.append(numbers(3..6)).await.unwrap();
    table.append(numbers(6..9)).await.unwrap();
    (table, directory)
}

fn numbers(range: std::ops::Range<i64>) -> ipc::UploadReader {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(range));
    let batch = RecordBatch::try_from_iter([("n", numbers.clone()), ("m", numbers)]).unwrap();
    upload(&batch)
}

fn code<T: std::fmt::Debug>(outcome: Result<T>) -> Code {
    outcome.unwrap_err().code()
}

fn rename(path: &str, to: &str) -> Alteration {
    Alteration {
        path: path.into(),
        rename: Some(to.into()),
        nullable: None,
        data_type: None,
    }
}

fn at(version: u64) -> ReadOptions {
    ReadOptions {
        version: Some(version),
        ..ReadOptions::default()
    }
}

#[tokio::test]
async fn a_deleted_version_is_unknown() {
    let (table, _directory) = table().await;
    assert_eq!(table.delete_versions(&[(1, Some(2))]).await.unwrap(), 1);
    assert_eq!(
        code(table.describe(at(1)).await),
        Code::TableVersionNotFound
    );
    assert_eq!(code(table.restore(1).await), Code::TableVersionNotFound);
    assert_eq!(table.restore(2).await.unwrap(), 4);
    assert_eq!(
        table
            .count_rows(None, ReadOptions::default())
            .await
            .unwrap(),
        6
    );
}

/// A version that was the newest for long is old from the moment on when another took its place.
#[tokio::test]
async fn the_retention_of_a_version_begins_with_the_next_version() {
    let (table, _directory) = table().await;
    let kept = Duration::from_millis(800);
    tokio::time::sleep(kept).await;
    table.append(numbers(9..12)).await.unwrap();
    assert_eq!(table.clean_up(kept, None).await.unwrap().versions, 2);
    let rows = table.count_rows(None, at(3)).await.unwrap();
    assert_eq!(rows, 9);
    tokio::time::sleep(kept).await;
    assert_eq!(table.clean_up(kept, Some(3)).await.unwrap().versions, 0);
    assert_eq!(table.clean_up(kept, None).await.unwrap().versions, 1);
    assert_eq!(
        code(table.describe(at(3)).await),
        Code::TableVersionNotFound
    );
    assert_eq!(
        table.clean_up(Duration::ZERO, None).await.unwrap().versions,
        0
    );
}

#[tokio::test]
async fn a_branch_has_no_versions_before_its_first() {
    let (table, _directory) = table().await;
    table.create_branch("dev", Some(2)).await.unwrap();
    let dev = table.on_branch(Some("dev"));
    assert_eq!(code(dev.describe(at(1)).await), Code::TableVersionNotFound);
    assert_eq!(
        code(dev.create_tag("old", 1).await),
        Code::TableVersionNotFound
    );
    assert_eq!(dev.describe(at(2)).await.unwrap().version, 2);
}

#[tokio::test]
async fn a_branch_that_others_need_stays() {
    let (table, _directory) = table().await;
    table.create_branch("dev", None).await.unwrap();
    let dev = table.on_branch(Some("dev"));
    dev.create_branch("twig", None).await.unwrap();
    let refused = table.delete_branch("dev").await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidTableState);
    assert_eq!(
        refused.message(),
        "other branches began on `dev` or tags point to it; delete those first"
    );
    table.delete_branch("twig").await.unwrap();
    table.delete_branch("dev").await.unwrap();
    assert_eq!(
        code(dev.describe(ReadOptions::default()).await),
        Code::TableBranchNotFound
    );
}

#[tokio::test]
async fn a_column_keeps_its_name_to_itself() {
    let (table, _directory) = table().await;
    let refused = table.alter_columns(&[rename("n", "m")]).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidInput);
    assert_eq!(refused.message(), "the table has a column `m` already");
}

#[tokio::test]
async fn a_computed_column_has_its_expressions_type() {
    let (table, _directory) = table().await;
    let column = |expression: &str| NewColumn::Computed {
        name: "c".into(),
        expression: expression.into(),
        metadata: [("owner".to_string(), "me".to_string())].into(),
    };
    for (expression, expected) in [
        ("missing + 1", Code::TableColumnNotFound),
        ("n +", Code::InvalidInput),
        ("count(n)", Code::InvalidInput),
    ] {
        let refused = table.add_columns(&[column(expression)]).await;
        assert_eq!(code(refused), expected, "{expression}");
    }
    assert_eq!(
        table.add_columns(&[column("n / 2.0 + m")]).await.unwrap(),
        4
    );
    let described = table.describe(ReadOptions::default()).await.unwrap();
    let schema: serde_json::Value = serde_json::from_str(&described.schema).unwrap();
    let field = &schema["fields"][2];
    assert_eq!(field["type"]["type"], "float64");
    assert_eq!(field["metadata"]["computed_column"], "true");
    assert_eq!(field["metadata"]["computed_column.kind"], "sql");
    assert_eq!(
        field["metadata"]["computed_column.expression"],
        "n / 2.0 + m"
    );
    assert_eq!(field["metadata"]["computed_column.inputs"], r#"["m","n"]"#);
    assert_eq!(field["metadata"]["owner"], "me");
    assert_eq!(
        table
            .count_rows(Some("c IS NULL"), ReadOptions::default())
            .await
            .unwrap(),
        9
    );
}

#[tokio::test]
async fn a_declared_column_names_columns_that_exist() {
    let (table, _directory) = table().await;
    let column = |input: &str| {
        NewColumn::null(
            "v",
            r#""float32""#,
            Default::default(),
            vec![input.to_string()],
        )
        .unwrap()
    };
    assert_eq!(
        code(table.add_columns(&[column("missing")]).await),
        Code::TableColumnNotFound
    );
    assert_eq!(table.add_columns(&[column("n")]).await.unwrap(), 4);
}

#[tokio::test]
async fn a_function_payload_is_stored_once() {
    let (table, directory) = table().await;
    let sha256 = "ab12".repeat(16);
    for _ in 0..2 {
        let kept = table.keep_function(&sha256, b"pickle".to_vec()).await;
        assert_eq!(kept.unwrap(), format!("_udfs/{sha256}"));
    }
    let file = directory.path().join("t.lance/_udfs").join(&sha256);
    assert_eq!(std::fs::read(file).unwrap(), b"pickle");
    let elsewhere = table.keep_function("../../x", b"pickle".to_vec()).await;
    assert_eq!(code(elsewhere), Code::InvalidInput);
}

#[tokio::test]
async fn an_update_reads_the_row_as_it_was() {
    let (table, _directory) = table().await;
    let update = |set: &[(&str, &str)]| Update {
        set: set
            .iter()
            .map(|(column, value)| (column.to_string(), value.to_string()))
            .collect(),
        predicate: Some("n = 4".into()),
    };
    // Whichever of the two Lance set first, the other would see.
    for swapped in [[("n", "m"), ("m", "n + 1")], [("m", "n + 1"), ("n", "M")]] {
        let refused = table.update(update(&swapped)).await;
        assert_eq!(code(refused), Code::InvalidInput);
    }
    let own = [("n", "n + 100"), ("m", "m + 200")];
    assert_eq!(
        table.update(update(&own)).await.unwrap().num_updated_rows,
        1
    );
    let moved = table.count_rows(Some("n = 104 AND m = 204"), ReadOptions::default());
    assert_eq!(moved.await.unwrap(), 1);
}

#[tokio::test]
async fn names_are_no_longer_than_file_names() {
    let (table, _directory) = table().await;
    let longest = "b".repeat(200);
    table.create_branch(&longest, None).await.unwrap();
    table.create_tag(&longest, 1).await.unwrap();
    assert_eq!(table.tag(&longest).await.unwrap().version, 1);
    let branch = table.on_branch(Some(&longest));
    let described = branch.describe(ReadOptions::default()).await.unwrap();
    assert_eq!(described.version, 3);
    // Every slash of a branch takes three bytes of a file's name.
    let groups = ["b"; 100].join("/");
    for long in ["b".repeat(201), groups, "b".repeat(10_000)] {
        let branch = table.on_branch(Some(&long));
        refused(branch.describe(ReadOptions::default()).await);
        refused(table.create_branch(&long, None).await);
        refused(table.delete_branch(&long).await);
        refused(table.create_tag(&long, 1).await);
        refused(table.tag(&long).await);
        refused(table.update_tag(&long, 1).await);
        refused(table.delete_tag(&long).await);
    }
}

/// Fails unless the name was the client's mistake.
fn refused<T: std::fmt::Debug>(outcome: Result<T>) {
    let code = code(outcome);
    let mistakes = [
        Code::InvalidInput,
        Code::TableBranchNotFound,
        Code::TableTagNotFound,
    ];
    assert!(mistakes.contains(&code), "{code:?}");
}

#[tokio::test]
async fn an_index_whose_build_was_stopped_in_its_commit_is_not_built_again() {
    let (table, _directory) = table().await;
    let texts = NewColumn::Computed {
        name: "c".into(),
        expression: "'a text'".into(),
        metadata: Default::default(),
    };
    table.add_columns(&[texts]).await.unwrap();
    for (column, kind) in [("n", "BTREE"), ("c", "FTS")] {
        let spec = format!(r#"{{"column":"{column}","index_type":"{kind}","name":"{kind}"}}"#);
        let build = table.for_request(Attempt {
            id: kind.into(),
            since: Some(SystemTime::now()),
        });
        build
            .create_index(&spec, &WorkContext::default())
            .await
            .unwrap();
        let version = table
            .describe(ReadOptions::default())
            .await
            .unwrap()
            .version;
        build
            .create_index(&spec, &WorkContext::default())
            .await
            .unwrap();
        let after = table
            .describe(ReadOptions::default())
            .await
            .unwrap()
            .version;
        assert_eq!(after, version, "{kind}");
        let other = table.create_index(&spec, &WorkContext::default()).await;
        assert_eq!(code(other), Code::TableIndexAlreadyExists, "{kind}");
    }
}
