//! The number of partitions of an index that a vector search probes.

use lance::dataset::scanner::Scanner;
use lance_index::vector::ProbeParams;

use super::request::Query;
use crate::error::{Error, Result};

/// The bounds: `nprobes` sets a bound that is not set explicitly, and is ignored with `minimum_nprobes` or
/// `search_effort`. A maximum of 0 means no maximum.
pub fn bounds(query: &Query) -> Result<ProbeParams> {
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
    let fixed_maximum = fixed.filter(|_| query.maximum_nprobes.is_none());
    let fixed_minimum = fixed.map(|fixed| maximum.map_or(fixed, |most| fixed.min(most)));
    let count = |number: u32| number as usize;
    Ok(ProbeParams {
        nprobes: None,
        minimum_nprobes: minimum.or(fixed_minimum).map(count),
        maximum_nprobes: maximum.or(fixed_maximum).map(count),
        search_effort: query.search_effort,
    })
}

/// Sets the bounds of a scan.
pub fn set(scanner: &mut Scanner, bounds: &ProbeParams) -> Result<()> {
    if let Some(minimum) = bounds.minimum_nprobes {
        scanner.minimum_nprobes(minimum);
    }
    if let Some(maximum) = bounds.maximum_nprobes {
        scanner.maximum_nprobes(maximum);
    }
    if let Some(effort) = bounds.search_effort {
        scanner.search_effort(effort)?;
    }
    Ok(())
}
