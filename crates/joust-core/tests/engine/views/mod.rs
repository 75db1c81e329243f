//! Refreshes of materialized views.

mod concurrent;
mod few;
mod groups;
mod model;
mod refreshes;
mod whole;
mod worker;
mod workers;

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::Schema;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use futures::TryStreamExt;
use joust_core::jobs::remote::RemoteWork;
use joust_core::jobs::view_refresh::{NewView, Refresh, RefreshMode, Refreshed, Source};
use joust_core::{Result, WorkContext};
use lance::Dataset;

use crate::place::Place;
use crate::sent::stream;

/// Rows of the tables that the views read: `id`, `n`, which may be null, `name` and `kind`, from 0 to 3.
pub fn items(ids: impl Iterator<Item = i64>) -> RecordBatch {
    let ids: Vec<i64> = ids.collect();
    let of = |value: &dyn Fn(i64) -> Option<i64>| -> ArrayRef {
        Arc::new(ids.iter().map(|id| value(*id)).collect::<Int64Array>())
    };
    let names = ids.iter().map(|id| Some(format!("name {}", id % 7)));
    RecordBatch::try_from_iter_with_nullable([
        ("id", of(&Some), true),
        ("n", of(&|id| (id % 5 != 0).then_some(id * 3)), true),
        (
            "name",
            Arc::new(names.collect::<StringArray>()) as ArrayRef,
            true,
        ),
        ("kind", of(&|id| Some(id % 4)), true),
    ])
    .unwrap()
}

/// A view and the tables that it reads.
#[derive(Clone, Copy)]
pub struct View {
    pub name: &'static str,
    pub sql: &'static str,
    pub sources: &'static [&'static str],
}

impl View {
    fn sources(&self, place: &Place) -> Vec<Source> {
        let sources = self.sources.iter();
        sources
            .map(|name| Source {
                name: vec![(*name).to_string()],
                table: vec![(*name).to_string()],
                location: place.location(name),
                storage_options: Default::default(),
                version: None,
            })
            .collect()
    }

    pub async fn create(&self, place: &Place) {
        self.create_as(place, None).await;
    }

    /// With declared types.
    pub async fn create_with(&self, place: &Place, schema: &Schema) {
        let empty = RecordBatch::new_empty(Arc::new(schema.clone()));
        self.create_as(place, Some(stream(&[empty]))).await;
    }

    async fn create_as(&self, place: &Place, schema: Option<Vec<u8>>) {
        let view = NewView {
            sql: self.sql.to_string(),
            sources: self.sources(place),
            schema,
            auto_refresh: None,
            function: None,
        };
        place
            .table(self.name)
            .create_view(&view, None)
            .await
            .unwrap();
    }

    pub async fn try_refresh(&self, place: &Place, full: bool) -> Result<Refreshed> {
        self.refresh_with(place, full, None).await
    }

    /// `workers`: they compute rows of the view.
    pub async fn refresh_with(
        &self,
        place: &Place,
        full: bool,
        workers: Option<RemoteWork>,
    ) -> Result<Refreshed> {
        let refresh = Refresh {
            sources: self.sources(place),
            full,
            workers,
            ..Refresh::default()
        };
        let work = WorkContext::default();
        place.table(self.name).refresh_view(&refresh, &work).await
    }

    pub async fn refresh(&self, place: &Place) -> Refreshed {
        self.try_refresh(place, false).await.unwrap()
    }

    /// Why the next refresh computes all rows.
    pub async fn full_because(&self, place: &Place) -> Option<String> {
        let sources = self.sources(place);
        let status = place.table(self.name).view_status(&sources, None).await;
        because(&status.unwrap().next_refresh)
    }

    /// The rows as texts, sorted. Also checks what Lance can check of the version.
    pub async fn rows(&self, place: &Place) -> Vec<String> {
        let dataset = self.dataset(place).await;
        dataset.validate().await.unwrap();
        texts(&dataset, None).await
    }

    pub async fn rows_where(&self, place: &Place, filter: &str) -> Vec<String> {
        texts(&self.dataset(place).await, Some(filter)).await
    }

    pub async fn dataset(&self, place: &Place) -> Dataset {
        Dataset::open(&place.location(self.name)).await.unwrap()
    }
}

/// Why a refresh computed all rows.
pub fn because(mode: &RefreshMode) -> Option<String> {
    match mode {
        RefreshMode::Incremental => None,
        RefreshMode::Full(reason) => Some(reason.to_string()),
    }
}

async fn texts(dataset: &Dataset, filter: Option<&str>) -> Vec<String> {
    let mut scanner = dataset.scan();
    if let Some(filter) = filter {
        scanner.filter(filter).unwrap();
    }
    let batches = scanner.try_into_stream().await.unwrap();
    let batches: Vec<RecordBatch> = batches.try_collect().await.unwrap();
    let options = FormatOptions::new().with_null("null");
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<_> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column.as_ref(), &options).unwrap())
            .collect();
        for row in 0..batch.num_rows() {
            let values = columns.iter().map(|column| column.value(row).to_string());
            rows.push(values.collect::<Vec<_>>().join(" | "));
        }
    }
    rows.sort();
    rows
}
