//! Boosting query: rows of one query, with a lower score where another query matches them, too. tantivy has no such
//! query for `boost`.

use tantivy::query::{EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::{DocId, DocSet, Score, SegmentReader, Term};

#[derive(Debug)]
pub struct BoostingQuery {
    positive: Box<dyn Query>,
    negative: Box<dyn Query>,
    factor: Score,
}

impl BoostingQuery {
    pub fn new(positive: Box<dyn Query>, negative: Box<dyn Query>, factor: Score) -> Self {
        Self {
            positive,
            negative,
            factor,
        }
    }
}

impl Clone for BoostingQuery {
    fn clone(&self) -> Self {
        Self::new(
            self.positive.box_clone(),
            self.negative.box_clone(),
            self.factor,
        )
    }
}

impl Query for BoostingQuery {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(BoostingWeight {
            positive: self.positive.weight(scoring)?,
            negative: self.negative.weight(scoring)?,
            factor: self.factor,
        }))
    }

    fn query_terms<'a>(&'a self, visitor: &mut dyn FnMut(&'a Term, bool)) {
        self.positive.query_terms(visitor);
    }
}

struct BoostingWeight {
    positive: Box<dyn Weight>,
    negative: Box<dyn Weight>,
    factor: Score,
}

impl Weight for BoostingWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        Ok(Box::new(BoostingScorer {
            positive: self.positive.scorer(reader, boost)?,
            negative: self.negative.scorer(reader, boost)?,
            factor: self.factor,
        }))
    }

    fn explain(&self, reader: &SegmentReader, document: DocId) -> tantivy::Result<Explanation> {
        self.positive.explain(reader, document)
    }
}

struct BoostingScorer {
    positive: Box<dyn Scorer>,
    negative: Box<dyn Scorer>,
    factor: Score,
}

impl DocSet for BoostingScorer {
    fn advance(&mut self) -> DocId {
        self.positive.advance()
    }

    fn seek(&mut self, target: DocId) -> DocId {
        self.positive.seek(target)
    }

    fn doc(&self) -> DocId {
        self.positive.doc()
    }

    fn size_hint(&self) -> u32 {
        self.positive.size_hint()
    }
}

impl Scorer for BoostingScorer {
    fn score(&mut self) -> Score {
        let document = self.positive.doc();
        let score = self.positive.score();
        if self.negative.doc() < document {
            self.negative.seek(document);
        }
        if self.negative.doc() == document {
            score - self.factor * self.negative.score()
        } else {
            score
        }
    }
}
