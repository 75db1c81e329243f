//! Files of ended jobs and killed processes that Lance's clean-up does not know.

use std::time::{Duration, SystemTime};

use crate::blocking_executor::step;
use crate::error::Result;
use crate::storage::{path_on_disk, remove_temporary_files};
use crate::table::Table;

/// As long as Lance keeps files that no version names: a writer may still be at work.
const LIFETIME: Duration = Duration::from_secs(7 * 24 * 3_600);

/// Removes the old ones of a branch.
pub(super) async fn remove_leftovers(table: &Table) -> Result<()> {
    table.remove_expired_checkpoints().await?;
    if table.handle().is_local() {
        let (_, base) = table.handle().files().await?;
        let branch = path_on_disk(&base);
        let before = SystemTime::now() - LIFETIME;
        step(move || remove_temporary_files(&branch, before)).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::{File, create_dir_all};
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, RecordBatch};

    use super::*;
    use crate::ipc::sent;
    use crate::table::ReadOptions;
    use crate::{Engine, EngineOptions};

    /// Of each kind an old file. Lance's clean-up removes some of them.
    const OLD: [&str; 9] = [
        "data/old.lance",
        "data/.tmpold",
        "_indices/9f1d53a8-9ee4-4a33-8c02-9f33b1b3cb2a/old.lance",
        "_deletions/.tmpold",
        "_transactions/.tmpold",
        "_versions/.tmpold",
        "_versions/old.manifest#1",
        "_backfills/old.json",
        "_backfills/old.committing",
    ];

    #[tokio::test]
    async fn a_clean_up_removes_old_files_that_no_version_names_and_no_new_ones() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("t.lance");
        let engine = Engine::new(EngineOptions::default());
        let table = engine.table(&place.display().to_string(), Default::default());
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..3));
        let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
        table
            .create(sent(engine.memory(), &batch), false)
            .await
            .unwrap();
        let write = |name: &str, age: Duration| {
            let path = place.join(name);
            create_dir_all(path.parent().unwrap()).unwrap();
            let file = File::create(path).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
        };
        for name in OLD {
            write(name, LIFETIME + Duration::from_secs(3_600));
            write(&name.replace("old", "new"), Duration::ZERO);
        }
        table.clean_up(Duration::ZERO, None).await.unwrap();
        for name in OLD {
            assert!(!place.join(name).exists(), "{name} stays");
            let new = name.replace("old", "new");
            assert!(place.join(&new).exists(), "{new} was removed");
        }
        let rows = table
            .count_rows(Some("n >= 0"), ReadOptions::default())
            .await;
        assert_eq!(rows.unwrap(), 3);
    }
}
