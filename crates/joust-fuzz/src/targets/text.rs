//! Text queries.

use joust_text::Error;
use joust_text::highlight::{Highlighter, Style};
use joust_text::query::{Limits, decode};
use joust_text::search::{Hit, Plan};

use crate::Texts;

/// Rows of a short search, and of one that returns every row.
const FEW: usize = 3;
const ALL: usize = 10_000;

/// Searches with a `full_text_query`. The top rows of a short search are as many as those of a search for all rows.
pub fn text(texts: &Texts, data: &[u8]) {
    let Ok(value) = serde_json::from_slice(data) else {
        return;
    };
    let Some(query) = accepted(decode(&value, Limits::default())) else {
        return;
    };
    let names = texts.names();
    let Ok(query) = query.resolve(&names, &mut |name: &str| {
        names.iter().find(|own| *own == name).cloned().ok_or(())
    }) else {
        return;
    };
    let plan = Plan::new(&query, texts.columns(), Limits::default(), &|| false);
    let Some(plan) = accepted(plan) else {
        return;
    };
    plan.work().unwrap();
    let search = |reach| accepted(plan.search(reach, None, &|| false));
    let (Some(few), Some(all)) = (search(FEW), search(ALL)) else {
        return;
    };
    check_order(&few);
    check_order(&all);
    // The sums of the largest boosts are infinite, and their differences no numbers.
    if all.iter().all(|hit| hit.score.is_finite()) {
        assert_eq!(few.len(), all.len().min(FEW), "{few:?} {all:?}");
    }

    let passage = String::from_utf8_lossy(data);
    for name in &names {
        if let Some(highlighter) = Highlighter::new(&plan, name) {
            highlighter.passages(&passage, &Style::default());
        }
    }
}

fn check_order(hits: &[Hit]) {
    assert!(
        hits.is_sorted_by(|a, b| a.rank(b).is_lt()),
        "the best row is not first, or a row occurs twice: {hits:?}"
    );
}

/// The value; `None` for an error of the client.
fn accepted<T>(result: joust_text::Result<T>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(Error::Invalid(_)) => None,
        Err(error) => panic!("an error that is not the client's: {error:?}"),
    }
}
