//! Random changes of a table. After each refresh a view must have the rows of one that is computed in full.

use std::time::Duration;

use joust_core::jobs::maintenance::Compact;
use joust_core::table::{Alteration, Merge, NewColumn, Update};
use joust_core::{Table, WorkContext};
use lance::Dataset;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::worker::refresh;
use super::{View, because, items};
use crate::place::Place;
use crate::sent::upload;

const CASES: u32 = 24;

/// A view, and the same one which is always computed in full.
const PAIRS: [(View, View); 8] = [
    pair(
        ["plain", "plain_twin"],
        "SELECT id, n + 1 AS m, upper(name) AS name FROM t WHERE kind < 3",
        &["t"],
    ),
    pair(
        ["nested", "nested_twin"],
        "SELECT s.id AS id, CASE WHEN s.n IS NULL THEN -1 ELSE s.n END AS m \
         FROM (SELECT id, n, kind FROM t WHERE name <> 'name 3') AS s WHERE s.kind > 0",
        &["t"],
    ),
    // A view of a view.
    pair(
        ["second", "second_twin"],
        "SELECT id, m * 2 AS m FROM plain WHERE id % 2 = 0",
        &["plain"],
    ),
    // Groups whose results can be merged.
    pair(
        ["kinds", "kinds_twin"],
        "SELECT kind, count(*) AS c, count(n) AS d, sum(n) AS s, min(id) AS lo, max(name) AS hi \
         FROM t WHERE id % 3 <> 1 GROUP BY kind",
        &["t"],
    ),
    // Groups whose results can't be merged; the key may be null.
    pair(
        ["rests", "rests_twin"],
        "SELECT n % 5 AS g, avg(n) AS a, count(DISTINCT kind) AS k FROM t GROUP BY n % 5 \
         HAVING count(*) > 1",
        &["t"],
    ),
    pair(
        ["total", "total_twin"],
        "SELECT count(*) AS c, sum(n) AS s FROM t WHERE kind > 0",
        &["t"],
    ),
    pair(
        ["merged_names", "merged_names_twin"],
        "SELECT name, count(*) AS c, max(m) AS m FROM plain GROUP BY name",
        &["plain"],
    ),
    // Groups over a view.
    pair(
        ["names", "names_twin"],
        "SELECT name, max(m) AS m, count(*) + 1 AS c FROM plain GROUP BY name",
        &["plain"],
    ),
];

const fn pair(
    names: [&'static str; 2],
    sql: &'static str,
    sources: &'static [&'static str],
) -> (View, View) {
    (
        View {
            name: names[0],
            sql,
            sources,
        },
        View {
            name: names[1],
            sql,
            sources,
        },
    )
}

#[derive(Debug, Clone)]
enum Step {
    Insert(i64),
    /// New values of a column of the rows with `id % modulus = rest`.
    Update {
        column: &'static str,
        modulus: i64,
        rest: i64,
    },
    Delete {
        modulus: i64,
        rest: i64,
    },
    /// Rows from this id on, of which some exist.
    Merge(i64, i64),
    Compact,
    CompactView,
    IndexView,
    OptimizeView,
    /// An index of a column that the views filter by.
    IndexTable,
    OptimizeTable,
    /// How many versions back.
    Restore(u64),
    AddColumn,
    ReplaceColumn,
    CleanUp,
    /// `true`: workers compute rows.
    Refresh(bool),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1_i64..30).prop_map(Step::Insert),
        6 => (prop::sample::select(vec!["n", "name", "kind"]), 2_i64..9, 0_i64..9)
            .prop_map(|(column, modulus, rest)| Step::Update { column, modulus, rest }),
        3 => (4_i64..12, 0_i64..12).prop_map(|(modulus, rest)| Step::Delete { modulus, rest }),
        3 => (0_i64..60, 1_i64..30).prop_map(|(from, rows)| Step::Merge(from, rows)),
        2 => Just(Step::Compact),
        1 => Just(Step::CompactView),
        1 => Just(Step::IndexView),
        1 => Just(Step::OptimizeView),
        1 => Just(Step::IndexTable),
        1 => Just(Step::OptimizeTable),
        1 => (1_u64..4).prop_map(Step::Restore),
        1 => Just(Step::AddColumn),
        1 => Just(Step::ReplaceColumn),
        1 => Just(Step::CleanUp),
        10 => prop::bool::ANY.prop_map(Step::Refresh),
    ]
}

struct Run {
    place: Place,
    table: Table,
    next: i64,
    extra: u32,
    /// How many refreshes computed only changed rows.
    incremental: u32,
    /// How many had work for workers.
    on_workers: u32,
}

impl Run {
    async fn new() -> Self {
        let place = Place::new();
        let table = place.table("t");
        table.create(upload(&items(0..30)), false).await.unwrap();
        for (view, twin) in PAIRS {
            view.create(&place).await;
            twin.create(&place).await;
        }
        Self {
            place,
            table,
            next: 30,
            extra: 0,
            incremental: 0,
            on_workers: 0,
        }
    }

    async fn take(&mut self, step: &Step) {
        let work = WorkContext::default();
        let view = self.place.table("plain");
        match step {
            Step::Insert(rows) => {
                let ids = self.next..self.next + rows;
                self.next = ids.end;
                self.append(ids).await;
            }
            Step::Update {
                column,
                modulus,
                rest,
            } => {
                let value = match *column {
                    "name" => "concat(name, '!')",
                    "kind" => "(kind + 1) % 4",
                    _ => "n + 1000",
                };
                let update = Update {
                    set: vec![((*column).into(), value.into())],
                    predicate: Some(format!("id % {modulus} = {rest}")),
                };
                self.table.update(update).await.unwrap();
            }
            Step::Delete { modulus, rest } => {
                let predicate = format!("id % {modulus} = {rest}");
                self.table.delete(&predicate).await.unwrap();
            }
            Step::Merge(from, rows) => self.merge(*from..from + rows).await,
            Step::Compact => drop(
                self.table
                    .compact(&Compact::default(), &work)
                    .await
                    .unwrap(),
            ),
            Step::CompactView => drop(view.compact(&Compact::default(), &work).await.unwrap()),
            Step::IndexView => {
                let spec = r#"{"column": "m", "index_type": "BTREE", "replace": true}"#;
                view.create_index(spec, &work).await.unwrap();
            }
            Step::OptimizeView => drop(view.optimize_indices(&work).await.unwrap()),
            Step::IndexTable => {
                let spec = r#"{"column": "kind", "index_type": "BTREE", "replace": true}"#;
                self.table.create_index(spec, &work).await.unwrap();
            }
            Step::OptimizeTable => drop(self.table.optimize_indices(&work).await.unwrap()),
            Step::Restore(back) => {
                let versions = self.table.list_versions().await.unwrap();
                let mut versions: Vec<u64> = versions.iter().map(|one| one.version).collect();
                versions.sort_unstable();
                let at = versions.len().saturating_sub(1 + *back as usize);
                self.table.restore(versions[at]).await.unwrap();
                self.finish_replacement().await;
            }
            Step::AddColumn => {
                self.extra += 1;
                let name = format!("extra_{}", self.extra);
                self.fill(&name, "id * 2").await;
            }
            Step::ReplaceColumn => {
                // The views see other values in all rows.
                self.fill("new", "n * -1").await;
                self.finish_replacement().await;
            }
            Step::CleanUp => {
                self.table.clean_up(Duration::ZERO, None).await.unwrap();
                view.clean_up(Duration::ZERO, None).await.unwrap();
            }
            Step::Refresh(on_workers) => self.refresh(*on_workers).await,
        }
    }

    /// Puts the column `new`, if there is one, in the place of `n`.
    async fn finish_replacement(&self) {
        let table = Dataset::open(&self.place.location("t")).await.unwrap();
        if table.schema().field("new").is_none() {
            return;
        }
        if table.schema().field("n").is_some() {
            self.table.drop_columns(&["n".into()]).await.unwrap();
        }
        let rename = Alteration {
            path: "new".into(),
            rename: Some("n".into()),
            nullable: None,
            data_type: None,
        };
        self.table.alter_columns(&[rename]).await.unwrap();
    }

    async fn fill(&self, name: &str, expression: &str) {
        let column = NewColumn::Expression {
            name: name.into(),
            expression: expression.into(),
        };
        self.table.add_columns(&[column]).await.unwrap();
    }

    /// Columns that the upload lacks become null.
    async fn append(&self, ids: std::ops::Range<i64>) {
        self.table.append(upload(&items(ids))).await.unwrap();
    }

    async fn merge(&mut self, ids: std::ops::Range<i64>) {
        self.next = self.next.max(ids.end);
        let merge = Merge {
            on: vec!["id".into()],
            when_matched_update_all: true,
            when_matched_update_all_filter: None,
            when_not_matched_insert_all: true,
            when_not_matched_by_source_delete: false,
            when_not_matched_by_source_delete_filter: None,
            use_index: None,
            timeout: None,
        };
        self.table
            .merge_insert(upload(&items(ids)), merge)
            .await
            .unwrap();
    }

    /// Refreshes all views and compares them.
    async fn refresh(&mut self, on_workers: bool) {
        for (view, twin) in PAIRS {
            let said = view.full_because(&self.place).await;
            let refreshed = match on_workers {
                true => {
                    let (refreshed, had_work) = refresh(&view, &self.place, false).await;
                    self.on_workers += u32::from(had_work);
                    refreshed.unwrap()
                }
                false => view.refresh(&self.place).await,
            };
            let because = because(&refreshed.mode);
            // The rows are read only by the refresh.
            let of_rows = because
                .as_ref()
                .filter(|why| why.starts_with("rows were changed"));
            if said.is_some() || of_rows.is_none() {
                assert_eq!(because, said);
            }
            self.incremental += u32::from(because.is_none());
            twin.try_refresh(&self.place, true).await.unwrap();
            let rows = view.rows(&self.place).await;
            assert_eq!(rows, twin.rows(&self.place).await, "{}", view.name);
            assert_eq!(rows.len() as u64, self.count(&view).await);
            if !view.sql.contains(" AS m") {
                continue;
            }
            // Through the index, if there is one.
            let filter = "m >= 20 AND m < 1100";
            let found = view.rows_where(&self.place, filter).await;
            assert_eq!(
                found,
                twin.rows_where(&self.place, filter).await,
                "{}",
                view.name
            );
        }
    }

    async fn count(&self, view: &View) -> u64 {
        let table = self.place.table(view.name);
        table.count_rows(None, Default::default()).await.unwrap()
    }
}

#[test]
fn a_refreshed_view_has_the_rows_of_a_full_refresh() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_stack_size(16 << 20)
        .enable_all()
        .build()
        .unwrap();
    let mut runner = TestRunner::new(Config {
        cases: CASES,
        max_shrink_iters: 200,
        ..Config::default()
    });
    let incremental = std::cell::Cell::new(0);
    let on_workers = std::cell::Cell::new(0);
    let steps = prop::collection::vec(step(), 5..25);
    let checked = runner.run(&steps, |steps| {
        runtime.block_on(async {
            let mut run = Run::new().await;
            for step in &steps {
                run.take(step).await;
            }
            run.refresh(false).await;
            incremental.set(incremental.get() + run.incremental);
            on_workers.set(on_workers.get() + run.on_workers);
        });
        Ok(())
    });
    checked.unwrap();
    // Otherwise the test compares full refreshes with one another.
    assert!(incremental.get() > CASES, "{}", incremental.get());
    assert!(on_workers.get() > CASES, "{}", on_workers.get());
}
