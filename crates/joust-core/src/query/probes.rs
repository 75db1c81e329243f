//! How many partitions of an index a vector search looks into.

use lance::dataset::scanner::Scanner;

use super::request::Query;
use crate::error::{Error, Result};

/// Sets the bounds: `nprobes` counts for a bound that is not given by itself, and not at all with
/// `minimum_nprobes` or `search_effort`. A maximum of 0 is no maximum.
pub fn set(scanner: &mut Scanner, query: &Query) -> Result<()> {
    let given = |number: Option<u32>| number.filter(|number| *number > 0);
    let minimum = given(query.minimum_nprobes);
    let maximum = given(query.maximum_nprobes);
    if let (Some(minimum), Some(maximum)) = (minimum, maximum)
        && minimum > maximum
    {
        return Err(Error::invalid(format!(
            "`minimum_nprobes` {minimum} is above `maximum_nprobes` {maximum}"
        )));
    }
    let fixed = match (minimum, query.search_effort) {
        (None, None) => given(query.nprobes),
        _ => None,
    };
    if let Some(fixed) = fixed {
        scanner.minimum_nprobes(maximum.map_or(fixed, |most| fixed.min(most)) as usize);
        if query.maximum_nprobes.is_none() {
            scanner.maximum_nprobes(fixed as usize);
        }
    }
    if let Some(minimum) = minimum {
        scanner.minimum_nprobes(minimum as usize);
    }
    if let Some(maximum) = maximum {
        scanner.maximum_nprobes(maximum as usize);
    }
    if let Some(effort) = query.search_effort {
        scanner.search_effort(effort)?;
    }
    Ok(())
}
