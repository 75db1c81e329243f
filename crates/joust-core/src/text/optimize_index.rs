//! Index optimization: keeps a text index as fast as a new one. New rows become a segment, many segments are merged into
//! one, a segment with few remaining rows is rewritten, and rows that are no longer visible are removed in the process.

use joust_text::segment::{Segment, merge};
use lance::Dataset;
use lance_table::format::Fragment;
use roaring::RoaringBitmap;

use super::build::{Made, Source, Target, commit, memory, segment_of};
use super::column::TextColumn;
use super::entry::{Entry, entries};
use super::files::{Scratch, blocking, open};
use super::text_caches::TextCaches;
use super::visible;
use crate::commit::{Attempts, Policy, always_lost};
use crate::error::{Code, Error, Result};
use crate::table::Table;
use crate::work::{Progress, WorkContext};

/// Segments of about one size that are merged.
const ALIKE: usize = 4;
/// Segments are of about one size if the larger one is at most this many times the smaller one.
const FACTOR: u64 = 8;
/// Smaller segments are all of about one size.
const SMALL: u64 = 10_000;

/// The most commits of one optimization. The next one continues.
const MOST_COMMITS: usize = 5;

/// Adds the missing rows to an index and merges its segments; returns the new version, if there was anything to do.
pub async fn optimize_index(
    table: &Table,
    name: &str,
    caches: &TextCaches,
    work: &WorkContext,
) -> Result<Option<u64>> {
    let mut made = None;
    for _ in 0..MOST_COMMITS {
        match commit_round(table, name, caches, work).await? {
            None => break,
            version => made = version,
        }
    }
    Ok(made)
}

/// Does a round again while other commits come first.
async fn commit_round(
    table: &Table,
    name: &str,
    caches: &TextCaches,
    work: &WorkContext,
) -> Result<Option<u64>> {
    let mut attempts = Attempts::at(Policy::OptimizeIndices);
    loop {
        match round(table, name, caches, work).await {
            Err(error) => attempts.lost(error).await.map_err(always_lost("table"))?,
            done => return done,
        }
    }
}

/// First the tail, then the segments: one merge may make another of the next size due.
async fn round(
    table: &Table,
    name: &str,
    caches: &TextCaches,
    work: &WorkContext,
) -> Result<Option<u64>> {
    match add_tail(table, name, caches, work).await? {
        None => rewrite(table, name, caches, work).await,
        version => Ok(version),
    }
}

/// Builds a segment of the rows that are in none.
async fn add_tail(
    table: &Table,
    name: &str,
    caches: &TextCaches,
    work: &WorkContext,
) -> Result<Option<u64>> {
    let table = &table.begun().await?;
    let dataset = table.newest().await?;
    let index = own(&dataset, name, caches).await?;
    let mut covered = RoaringBitmap::new();
    for entry in &index {
        covered |= &entry.fragments;
    }
    let fragments: Vec<_> = dataset
        .manifest()
        .fragments
        .iter()
        .filter(|fragment| !covered.contains(fragment.id as u32))
        .cloned()
        .collect();
    let Some(first) = index.first().filter(|_| !fragments.is_empty()) else {
        return Ok(None);
    };
    let column = TextColumn::of(&dataset, first)?;
    let mut progress = Progress {
        stage: "index_text".to_string(),
        completed: 0,
        total: fragments
            .iter()
            .map(|fragment| fragment.num_rows().map(|rows| rows as u64))
            .sum(),
    };
    work.report_progress(progress.clone());
    let mut report = |rows: u64| {
        progress.completed += rows;
        work.report_progress(progress.clone());
    };
    let analysis = &first.details.analysis;
    let source = Source {
        dataset: &dataset,
        column: &column,
        analysis,
        memory: memory(table),
    };
    let made = segment_of(&source, fragments, &mut report).await?;
    let target = Target {
        name,
        column: &column,
    };
    let version = commit(table, &dataset, &target, analysis, vec![made], work).await?;
    Ok(Some(version))
}

/// Merges segments of about one size, if there are enough, or those with mostly deleted rows.
async fn rewrite(
    table: &Table,
    name: &str,
    caches: &TextCaches,
    work: &WorkContext,
) -> Result<Option<u64>> {
    let table = &table.begun().await?;
    let dataset = table.newest().await?;
    let index = own(&dataset, name, caches).await?;
    let chosen = match alike(&index) {
        few if few.is_empty() => mostly_dead(&dataset, &index),
        many => many,
    };
    let Some(first) = chosen.first() else {
        return Ok(None);
    };
    let column = TextColumn::of(&dataset, first)?;
    work.report("merge_segments", 0, None);
    let mut sources = Vec::new();
    let mut fragments = RoaringBitmap::new();
    for entry in &chosen {
        fragments |= &entry.fragments;
        let Some(segment) = open(&dataset, entry, caches).await? else {
            continue;
        };
        let keep = visible::rows(&dataset, entry.fragments.clone()).await?;
        sources.push((segment, keep));
    }
    let present = visible::present(&dataset, &fragments);
    let covered = present.map(|fragment| fragment.id as u32).collect();
    let made = blocking(move || {
        let scratch = Scratch::default();
        let sources: Vec<(&Segment, &dyn Fn(u64) -> bool)> = sources
            .iter()
            .map(|(segment, keep)| (segment.as_ref(), keep as &dyn Fn(u64) -> bool))
            .collect();
        match merge(&sources, scratch.path())? {
            None => Ok((0, None)),
            Some(built) => Ok((built.documents, Some(built.files()?))),
        }
    })
    .await?;
    let made = Made {
        covered,
        documents: made.0,
        files: made.1,
    };
    let target = Target {
        name,
        column: &column,
    };
    let analysis = &first.details.analysis;
    let version = commit(table, &dataset, &target, analysis, vec![made], work).await?;
    Ok(Some(version))
}

async fn own(dataset: &Dataset, name: &str, caches: &TextCaches) -> Result<Vec<Entry>> {
    let all = entries(dataset, caches).await?;
    let own: Vec<Entry> = all
        .iter()
        .filter(|entry| entry.name == name)
        .cloned()
        .collect();
    match own.is_empty() {
        true => Err(Error::new(
            Code::TableIndexNotFound,
            format!("the table has no FTS index `{name}`"),
        )),
        false => Ok(own),
    }
}

/// Segments that have lost at least half of their rows: so many are no longer in the fragments.
fn mostly_dead<'a>(dataset: &Dataset, index: &'a [Entry]) -> Vec<&'a Entry> {
    let dead = |entry: &&Entry| {
        let present = visible::present(dataset, &entry.fragments);
        let left: Option<usize> = present.map(Fragment::num_rows).sum();
        left.is_some_and(|left| left as u64 * 2 <= entry.details.documents)
            && entry.details.documents > 0
    };
    index.iter().filter(dead).collect()
}

/// The smallest segments of about one size, if there are enough.
fn alike(index: &[Entry]) -> Vec<&Entry> {
    let mut by_size: Vec<&Entry> = index.iter().collect();
    by_size.sort_by_key(|entry| entry.details.documents);
    let size = |entry: &Entry| entry.details.documents.max(SMALL);
    for start in 0..by_size.len() {
        let limit = size(by_size[start]).saturating_mul(FACTOR);
        let alike = by_size[start..]
            .iter()
            .take_while(|entry| size(entry) < limit);
        let count = alike.count();
        if count >= ALIKE {
            return by_size[start..start + count].to_vec();
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use joust_text::analysis::{Analysis, Params};
    use uuid::Uuid;

    use super::super::entry::{Details, FORMAT};
    use super::*;

    fn sizes(index: &[u64]) -> Vec<u64> {
        let details = |documents| Details {
            format: FORMAT,
            analysis: Analysis::new(&Params::default()).unwrap(),
            documents,
            json_keys: None,
        };
        let index: Vec<Entry> = index
            .iter()
            .map(|documents| Entry {
                name: "i".into(),
                uuid: Uuid::new_v4(),
                field: 0,
                fragments: RoaringBitmap::new(),
                details: Arc::new(details(*documents)),
                created_at_millis: None,
                bytes: None,
                base_id: None,
            })
            .collect();
        alike(&index)
            .iter()
            .map(|entry| entry.details.documents)
            .collect()
    }

    #[test]
    fn segments_of_one_size_are_merged_when_there_are_enough() {
        assert_eq!(sizes(&[5, 1, 9]), [0; 0]);
        assert_eq!(sizes(&[1_000_000, 5, 1, 9, 7_000]), [1, 5, 9, 7_000]);
        assert_eq!(
            sizes(&[1, 1_000_000, 900_000, 800_000, 2_000_000]),
            [800_000, 900_000, 1_000_000, 2_000_000]
        );
        assert_eq!(sizes(&[10_000, 100_000, 1_000_000, 10_000_000]), [0; 0]);
    }
}
