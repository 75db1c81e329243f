//! A table of two columns, and BM25 written out over its visible rows.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use joust_text::analysis::{Analysis, Analyzer, Params};
use joust_text::query::{Match, Operator, Query};
use joust_text::search::Hit;
use joust_text::segment::Builder;
use joust_text::view::{Part, Restriction, View};
use tantivy::fieldnorm::FieldNormReader;

/// Texts of `x` and `y`, whether the row is visible, and the segment it is in.
#[derive(Debug, Clone)]
pub struct Corpus {
    pub rows: Vec<(Option<String>, Option<String>, bool, usize)>,
}

pub fn analysis() -> Analysis {
    Analysis::new(&Params {
        with_position: Some(true),
        ..Params::default()
    })
    .unwrap()
}

pub struct Table {
    views: Vec<(String, Arc<View>)>,
}

impl Table {
    pub fn build(corpus: &Corpus) -> Self {
        let analysis = Arc::new(analysis());
        let view = |text: &dyn Fn(usize) -> Option<String>| {
            let mut parts = Vec::new();
            for segment in 0..4 {
                let mut builder =
                    Builder::in_memory(&analysis, Path::new("none"), usize::MAX).unwrap();
                for (row, (.., own)) in corpus.rows.iter().enumerate() {
                    if *own == segment {
                        builder.add(row as u64, text(row).as_deref()).unwrap();
                    }
                }
                if let Some(built) = builder.finish().unwrap() {
                    let visible = |row: u64| corpus.rows[row as usize].2;
                    parts.push(Arc::new(Part::new(built.open().unwrap(), visible).unwrap()));
                }
            }
            Arc::new(View::new(analysis.clone(), parts).unwrap())
        };
        Self {
            views: vec![
                ("x".to_string(), view(&|row| corpus.rows[row].0.clone())),
                ("y".to_string(), view(&|row| corpus.rows[row].1.clone())),
            ],
        }
    }

    pub fn columns(&self) -> Vec<(String, Arc<View>)> {
        self.views.clone()
    }

    pub fn restrict(&self, wanted: impl Fn(u64) -> bool + Copy) -> Vec<Restriction> {
        self.views
            .iter()
            .map(|(_, view)| view.restrict(wanted))
            .collect()
    }
}

/// Terms of the visible rows of a column.
struct Documents(BTreeMap<u64, Vec<(usize, String)>>);

/// Every row that the query finds, best first.
pub fn brute_force(corpus: &Corpus, query: &Query) -> Vec<Hit> {
    let analyzer = Analyzer::new(&analysis()).unwrap();
    let column = |text: &dyn Fn(usize) -> Option<String>| {
        let visible = (0..corpus.rows.len()).filter(|row| corpus.rows[*row].2);
        Documents(
            visible
                .filter_map(|row| Some((row as u64, analyzer.terms(&text(row)?))))
                .collect(),
        )
    };
    let columns = [
        column(&|row| corpus.rows[row].0.clone()),
        column(&|row| corpus.rows[row].1.clone()),
    ];
    let scores = evaluate(query, &columns, &analyzer);
    let mut hits: Vec<Hit> = scores
        .into_iter()
        .map(|(row, score)| Hit {
            row,
            score: score as f32,
        })
        .collect();
    hits.sort_by(Hit::rank);
    hits
}

type Scores = BTreeMap<u64, f64>;

fn evaluate(query: &Query, columns: &[Documents; 2], analyzer: &Analyzer) -> Scores {
    let all = |queries: &[Query]| -> Vec<Scores> {
        queries
            .iter()
            .map(|query| evaluate(query, columns, analyzer))
            .collect()
    };
    let of = |name: &Option<String>| &columns[usize::from(name.as_deref() == Some("y"))];
    match query {
        Query::Match(query) => of(&query.column).words(query, analyzer),
        Query::Phrase(query) => of(&query.column).phrase(&analyzer.terms(&query.terms)),
        Query::DisjunctionMax(queries) => {
            let mut best = Scores::new();
            for (row, score) in all(queries).into_iter().flatten() {
                let own = best.entry(row).or_insert(f64::MIN);
                *own = own.max(score);
            }
            best
        }
        Query::Boolean {
            must,
            should,
            must_not,
        } => {
            let (must, should, not) = (all(must), all(should), all(must_not));
            let mut found = Scores::new();
            for (row, score) in must.iter().chain(&should).flatten() {
                *found.entry(*row).or_default() += score;
            }
            found.retain(|row, _| {
                must.iter().all(|scores| scores.contains_key(row))
                    && !not.iter().any(|scores| scores.contains_key(row))
            });
            found
        }
        Query::Boost {
            positive,
            negative,
            negative_boost,
        } => {
            let mut found = evaluate(positive, columns, analyzer);
            for (row, score) in evaluate(negative, columns, analyzer) {
                if let Some(own) = found.get_mut(&row) {
                    *own -= f64::from(*negative_boost) * score;
                }
            }
            found
        }
        Query::CombinedFields(_) => Scores::new(),
    }
}

impl Documents {
    fn frequency(&self, term: &str) -> usize {
        let has = |terms: &&Vec<(usize, String)>| terms.iter().any(|(_, own)| own == term);
        self.0.values().filter(has).count()
    }

    fn idf(&self, frequency: usize) -> f64 {
        let (n, total) = (frequency as f64, self.0.len() as f64);
        (1.0 + (total - n + 0.5) / (n + 0.5)).ln()
    }

    /// The length as one byte keeps it.
    fn length(terms: &[(usize, String)]) -> f64 {
        let byte = FieldNormReader::fieldnorm_to_id(terms.len() as u32);
        f64::from(FieldNormReader::id_to_fieldnorm(byte))
    }

    fn saturated(&self, times: usize, terms: &[(usize, String)]) -> f64 {
        let lengths: f64 = self.0.values().map(|terms| Self::length(terms)).sum();
        let mean = lengths / self.0.len() as f64;
        let times = times as f64;
        2.2 * times / (times + 1.2 * (0.25 + 0.75 * Self::length(terms) / mean))
    }

    fn term(&self, term: &str, idf: f64) -> Scores {
        let mut found = Scores::new();
        for (row, terms) in &self.0 {
            let times = terms.iter().filter(|(_, own)| own == term).count();
            if times > 0 {
                found.insert(*row, idf * self.saturated(times, terms));
            }
        }
        found
    }

    /// Each word of the query with the terms it stands for.
    fn words(&self, query: &Match, analyzer: &Analyzer) -> Scores {
        let mut each = Vec::new();
        for (_, word) in analyzer.terms(&query.terms) {
            let edits = usize::from(query.fuzziness.edits(&word));
            let prefix: String = word.chars().take(query.prefix_length).collect();
            let mut near: Vec<&String> = self
                .0
                .values()
                .flatten()
                .map(|(_, term)| term)
                .filter(|term| *term == &word || edits > 0 && term.starts_with(&prefix))
                .filter(|term| distance(&word, term) <= edits)
                .collect();
            near.sort();
            near.dedup();
            let most = near.iter().map(|term| self.frequency(term)).max();
            let idf = self.idf(most.unwrap_or(0));
            let mut found = Scores::new();
            for term in near {
                let share = 1.0 / (distance(&word, term) as f64 + 1.0);
                for (row, score) in self.term(term, idf) {
                    *found.entry(row).or_default() += score * share * f64::from(query.boost);
                }
            }
            each.push(found);
        }
        let mut sum = Scores::new();
        for (row, score) in each.iter().flatten() {
            *sum.entry(*row).or_default() += score;
        }
        if query.operator == Operator::And {
            sum.retain(|row, _| each.iter().all(|scores| scores.contains_key(row)));
        }
        sum
    }

    fn phrase(&self, wanted: &[(usize, String)]) -> Scores {
        let idf: f64 = wanted
            .iter()
            .map(|(_, term)| self.idf(self.frequency(term)))
            .sum();
        let Some((origin, _)) = wanted.first() else {
            return Scores::new();
        };
        let mut found = Scores::new();
        for (row, terms) in &self.0 {
            let stands = |start: usize| {
                wanted.iter().all(|(place, term)| {
                    terms
                        .iter()
                        .any(|(own, text)| *own == start + place - origin && text == term)
                })
            };
            let times = terms.iter().filter(|(start, _)| stands(*start)).count();
            if times > 0 {
                found.insert(*row, idf * self.saturated(times, terms));
            }
        }
        found
    }
}

fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            table[i][j] = match (i, j) {
                (0, _) => j,
                (_, 0) => i,
                _ => (table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]))
                    .min(table[i - 1][j] + 1)
                    .min(table[i][j - 1] + 1),
            };
        }
    }
    table[a.len()][b.len()]
}
