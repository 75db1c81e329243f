//! Create and drop indexes.

use std::future::IntoFuture;
use std::sync::Arc;

use arrow::datatypes::DataType;
use futures::TryStreamExt;
use lance::Dataset;
use lance::index::DatasetIndexExt;
use lance::index::vector::pq_quantizer_minimum_rows;
use lance_core::datatypes::parse_field_path;
use lance_table::format::IndexMetadata;
use tracing::{Instrument, info_span};

use super::kind::Kind;
use super::params::build_params;
use super::progress::Reporter;
use super::spec::{Resolved, Spec};
use crate::commit::{Policy, is_conflict};
use crate::error::{Code, Error, Result};
use crate::table::Table;
use crate::text;
use crate::work::WorkContext;

/// A validated index definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    pub name: String,
    pub columns: Vec<String>,
    /// The interface's name of its kind.
    pub index_type: String,
}

impl Table {
    /// Validates a create-index request (its JSON) without building anything: the column, its type, the parameters and
    /// the name.
    pub async fn plan_index(&self, spec: &str) -> Result<Planned> {
        let spec = Spec::decode(spec)?;
        let dataset = self.newest().await?;
        let target = prepare(&dataset, &spec).await?;
        if target.kind == Kind::Text {
            text::check(&spec.text)?;
        } else {
            build_params(&spec, &target)?;
        }
        check_rows(&dataset, &spec, &target).await?;
        Ok(Planned {
            name: target.name,
            columns: vec![target.column],
            index_type: target.kind.name().to_string(),
        })
    }

    /// Builds an index and commits it. Dropping the future cancels the build. If that happens during the commit, the
    /// index may exist nevertheless, which a later [attempt](Self::for_request) detects. [`WorkContext::run`] does not
    /// drop it then.
    pub async fn create_index(&self, spec: &str, work: &WorkContext) -> Result<()> {
        match self.earlier().await {
            Ok(None) => {}
            // The outcome of an earlier attempt can no longer be determined: the name shows whether the index exists.
            Err(error) if is_conflict(&error) => {}
            found => return found.map(drop),
        }
        let spec = Spec::decode(spec)?;
        let newest = self.newest().await?;
        let target = prepare(&newest, &spec).await?;
        let memory = self.memory_for_job(training(&newest, &spec, &target), |stage| {
            work.report(stage, 0, None);
        });
        let _memory = memory.await;
        if target.kind == Kind::Text {
            let analysis = text::check(&spec.text)?;
            let what = text::Target {
                name: &target.name,
                column: &text::TextColumn::find(&newest, &target.column)?,
            };
            let build = text::build(self, what, &analysis, work);
            return build.instrument(info_span!("build text index")).await;
        }
        let (index_type, params) = build_params(&spec, &target)?;
        check_rows(&newest, &spec, &target).await?;
        let mut dataset = newest.as_ref().clone();
        let columns = [target.column.as_str()];
        let build = dataset
            .create_index_builder(&columns, index_type, params.as_ref())
            .name(target.name)
            .replace(spec.replaces())
            .progress(Arc::new(Reporter::new(work.clone())))
            .into_future()
            .instrument(info_span!("build index"));
        self.commit_work(Policy::IndexBuild, work, build)
            .await
            .map_err(Error::of_input)?;
        self.handle().advance(dataset);
        Ok(())
    }

    /// Removes an index; returns the new version.
    pub async fn drop_index(&self, name: &str) -> Result<u64> {
        let (mut dataset, _version) = self.copy_of_newest().await?;
        dataset.drop_index(name).await.map_err(|error| {
            let error = Error::from(error);
            match error.code() {
                Code::TableIndexNotFound => not_found(name),
                _ => error,
            }
        })?;
        let version = dataset.version_id();
        self.handle().advance(dataset);
        Ok(version)
    }
}

/// Bytes of the vectors for training; 0 for other kinds.
pub(crate) fn training(dataset: &Dataset, spec: &Spec, target: &Resolved) -> usize {
    /// Vectors that Lance samples for each partition, and for the codes of a quantizer.
    const SAMPLE: usize = 256;
    let field = dataset.schema().field(&target.column);
    let Some(field) = field.filter(|_| target.kind.is_vector()) else {
        return 0;
    };
    let vector = match field.data_type() {
        DataType::FixedSizeList(item, length) => {
            item.data_type().primitive_width().unwrap_or(1) * length as usize
        }
        _ => 0,
    };
    let partitions = spec.num_partitions.map_or(SAMPLE, |count| count as usize);
    vector
        .saturating_mul(SAMPLE)
        .saturating_mul(partitions.max(SAMPLE))
}

pub(crate) async fn prepare(dataset: &Dataset, spec: &Spec) -> Result<Resolved> {
    let target = spec.resolve(dataset)?;
    let mut same_name = text::all_entries(dataset).await?;
    same_name.retain(|index| index.name == target.name);
    if !same_name.is_empty() && !spec.replaces() {
        return Err(taken(&target.name, "drop it first or choose another name"));
    }
    let field = dataset.schema().field(&target.field).map(|field| field.id);
    if same_name
        .iter()
        .any(|index| index.fields.first().copied() != field)
    {
        return Err(taken(
            &target.name,
            "on another column; choose another name",
        ));
    }
    // Lance does not know joust's index and cannot replace it by one of another kind.
    let is_text = |index: &IndexMetadata| {
        let details = index.index_details.as_ref();
        details.is_some_and(|details| details.type_url == text::TYPE_URL)
    };
    if target.kind != Kind::Text && same_name.iter().any(is_text) {
        return Err(taken(&target.name, "of type FTS; drop it first"));
    }
    Ok(target)
}

fn taken(name: &str, advice: &str) -> Error {
    Error::new(
        Code::TableIndexAlreadyExists,
        format!("the table already has an index `{name}`: {advice}"),
    )
}

/// Rejects a vector index without enough vectors for training: Lance would store an index that covers nothing, and a
/// client that waits for it would wait forever. An empty table may have one, which is trained when rows arrive.
pub(crate) async fn check_rows(dataset: &Dataset, spec: &Spec, target: &Resolved) -> Result<()> {
    if !target.kind.is_vector() {
        return Ok(());
    }
    let rows = dataset.count_rows(None).await?;
    let codes = if target.kind.is_product_quantized() {
        pq_quantizer_minimum_rows(spec.num_bits.unwrap_or(8) as usize).unwrap_or(1)
    } else {
        1
    };
    let needed = codes.max(spec.num_partitions.unwrap_or(1) as usize);
    if rows > 0 && rows < needed {
        return Err(Error::invalid(format!(
            "the {} index needs at least {needed} rows to learn from; the table has {rows}",
            target.kind.name()
        )));
    }
    if rows == 0 {
        return Ok(());
    }
    let vectors = vectors(dataset, &target.column, needed).await?;
    if vectors < needed {
        return Err(Error::invalid(format!(
            "the {} index needs at least {needed} vectors to learn from; column `{}` has {vectors} in \
             {rows} rows and is null in the others",
            target.kind.name(),
            target.column
        )));
    }
    Ok(())
}

/// The number of rows with a vector, up to `most`.
async fn vectors(dataset: &Dataset, column: &str, most: usize) -> Result<usize> {
    let names = parse_field_path(column)?;
    let quoted = names
        .iter()
        .map(|name| format!("`{}`", name.replace('`', "``")));
    let path = quoted.collect::<Vec<_>>().join(".");
    let mut scanner = dataset.scan();
    scanner
        .empty_project()?
        .with_row_id()
        .filter(&format!("{path} IS NOT NULL"))?
        .limit(i64::try_from(most).ok(), None)?;
    let mut batches = scanner.try_into_stream().await?;
    let mut count = 0;
    while let Some(batch) = batches.try_next().await? {
        count += batch.num_rows();
    }
    Ok(count)
}

pub(crate) fn not_found(name: &str) -> Error {
    Error::new(
        Code::TableIndexNotFound,
        format!("the table has no index `{name}`"),
    )
}
