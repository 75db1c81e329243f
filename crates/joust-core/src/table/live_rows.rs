use lance::dataset::fragment::FileFragment;

use crate::error::Result;

/// Rows of a fragment that are not deleted; from the manifest if it has the number.
pub(crate) async fn live_rows(fragment: &FileFragment) -> Result<u64> {
    let rows = match fragment.metadata().num_rows() {
        Some(rows) => rows,
        None => fragment.count_rows(None).await?,
    };
    Ok(rows as u64)
}
