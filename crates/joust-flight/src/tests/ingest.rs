use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow_flight::sql::{
    CommandStatementIngest, TableDefinitionOptions, TableExistsOption as IfExists,
    TableNotExistOption as IfNotExist,
};
use futures::stream;

use super::fake::{Started, start};
use crate::backend::{Existing, Ingest};

pub fn command(if_not_exist: IfNotExist, if_exists: IfExists) -> CommandStatementIngest {
    CommandStatementIngest {
        table: "t".to_string(),
        table_definition_options: Some(TableDefinitionOptions {
            if_not_exist: if_not_exist.into(),
            if_exists: if_exists.into(),
        }),
        ..CommandStatementIngest::default()
    }
}

/// Ingests three batches of two rows.
async fn ingest(started: &Started, command: CommandStatementIngest) -> Result<i64, String> {
    let values: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let batch = RecordBatch::try_from_iter([("one", values)]).unwrap();
    let batches = stream::iter([Ok(batch.clone()), Ok(batch.clone()), Ok(batch)]);
    let mut client = started.client("alice").await;
    let ingested = client.execute_ingest(command, batches).await;
    ingested.map_err(|error| error.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_ingested_and_counted() {
    let started = start().await;
    for (if_not_exist, if_exists, creates, existing) in [
        (IfNotExist::Create, IfExists::Fail, true, Existing::Fail),
        (IfNotExist::Fail, IfExists::Append, false, Existing::Append),
        (
            IfNotExist::Create,
            IfExists::Replace,
            true,
            Existing::Replace,
        ),
    ] {
        let wanted = CommandStatementIngest {
            schema: creates.then(|| "a$b".to_string()),
            ..command(if_not_exist, if_exists)
        };
        assert_eq!(ingest(&started, wanted).await, Ok(6));
        let ingested = started.seen.ingested.lock().unwrap().pop();
        let expected = Ingest {
            table: "t".to_string(),
            schema: creates.then(|| "a$b".to_string()),
            creates,
            existing,
        };
        assert_eq!(ingested, Some(expected));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unsupported_ingest_options_are_refused() {
    let started = start().await;
    let create = || command(IfNotExist::Create, IfExists::Fail);
    for (wanted, message) in [
        (
            CommandStatementIngest {
                temporary: true,
                ..create()
            },
            "temporary",
        ),
        (
            CommandStatementIngest {
                catalog: Some("other".to_string()),
                ..create()
            },
            "no catalog `other`",
        ),
        (
            CommandStatementIngest {
                transaction_id: Some("x".into()),
                ..create()
            },
            "transaction",
        ),
        (
            CommandStatementIngest {
                options: [("a".to_string(), "b".to_string())].into(),
                ..create()
            },
            "no option `a`",
        ),
        (
            CommandStatementIngest {
                table_definition_options: None,
                ..create()
            },
            "if_not_exist",
        ),
        (
            command(IfNotExist::Create, IfExists::Unspecified),
            "if_exists",
        ),
        (command(IfNotExist::Fail, IfExists::Fail), "another option"),
    ] {
        let error = ingest(&started, wanted).await.unwrap_err();
        assert!(error.contains(message), "{error}");
    }
    assert!(started.seen.ingested.lock().unwrap().is_empty());
}
