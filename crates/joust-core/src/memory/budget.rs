//! The shares of the memory budget.

use lance_io::object_writer::upload_memory_bound_bytes;

const MIB: usize = 1 << 20;
/// Memory of an idle process: code, stacks, Node's heap.
const PROGRAM: usize = 192 * MIB;
/// The minimum of work memory in any budget.
const LEAST_WORK: usize = 32 * MIB;

/// The shares of a budget, bytes. A share that is not configured is derived from the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    pub total: usize,
    /// Opened index data: a quarter of the budget without the program.
    pub index_cache: usize,
    /// Manifests, schemas, file metadata: a sixteenth.
    pub metadata_cache: usize,
    /// Text segments and tails: an eighth.
    pub text_caches: usize,
    /// Rows and vectors of repeated queries: an eighth.
    pub row_cache: usize,
    /// Requests and jobs: the rest.
    pub work: usize,
}

impl Budget {
    pub fn new(
        total: usize,
        index_cache: Option<usize>,
        metadata_cache: Option<usize>,
        row_cache: Option<usize>,
    ) -> Self {
        let rest = total - PROGRAM.min(total / 2);
        let index_cache = index_cache.unwrap_or(rest / 4);
        let metadata_cache = metadata_cache.unwrap_or(rest / 16);
        let text_caches = rest / 8;
        let row_cache = row_cache.unwrap_or(rest / 8);
        let cached = index_cache + metadata_cache + text_caches + row_cache;
        Self {
            total,
            index_cache,
            metadata_cache,
            text_caches,
            row_cache,
            work: rest.saturating_sub(cached).max(LEAST_WORK),
        }
    }

    /// Read-ahead of a scan for a client, bytes. Lance's default, 2 GiB, suits one user of a machine.
    pub fn read_ahead(&self) -> usize {
        (self.work / 64).clamp(2 * MIB, 32 * MIB)
    }

    /// Memory of a sort for a client, bytes; beyond it, the sort spills to temporary files.
    pub fn sorting(&self) -> usize {
        (self.work / 4).clamp(32 * MIB, 256 * MIB)
    }

    /// Bytes for the buffers of the files that one upload is written to.
    pub fn writing(&self) -> usize {
        (self.work / 16).clamp(4 * MIB, 32 * MIB)
    }

    /// Bytes for the [multipart chunks](pieces) of an upload's file; `None` if that would leave room for few uploads.
    pub fn pieces(&self) -> Option<usize> {
        Some(pieces()).filter(|bytes| *bytes <= self.work / 16)
    }

    /// Memory of a job, bytes. Two jobs run concurrently and leave half to requests.
    pub fn job(&self) -> usize {
        (self.work / 4).clamp(16 * MIB, 1024 * MIB)
    }

    /// The largest accepted record batch: it is in memory twice while it is written.
    pub fn batch(&self) -> usize {
        self.work / 4
    }
}

/// Bytes of a file in transit to its storage, as Lance uploads them: ten chunks at once and the next one, unless its
/// environment variables differ.
pub fn pieces() -> usize {
    let bytes = upload_memory_bound_bytes(0, true);
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_sent_in_pieces_where_many_uploads_have_room() {
        let pieces = |gib: usize| Budget::new(gib << 30, None, None, None).pieces();
        assert_eq!(pieces(1), None);
        assert_eq!(pieces(4), Some(55 * MIB));
    }

    #[test]
    fn the_shares_add_up_to_the_budget() {
        for total in [256, 512, 4 << 10, 200 << 10] {
            let budget = Budget::new(total * MIB, None, None, None);
            let shares = budget.index_cache
                + budget.metadata_cache
                + budget.text_caches
                + budget.row_cache
                + budget.work
                + PROGRAM.min(total * MIB / 2);
            assert!(shares <= budget.total, "{budget:?}");
            assert!(shares + 4096 > budget.total, "{budget:?}");
        }
    }

    #[test]
    fn two_jobs_leave_half_of_the_work_to_requests() {
        for total in [512, 1 << 10, 16 << 10] {
            let budget = Budget::new(total * MIB, None, None, None);
            assert!(2 * budget.job() <= budget.work / 2 + MIB, "{budget:?}");
        }
    }

    #[test]
    fn a_cache_of_a_given_size_is_taken_from_work() {
        let budget = Budget::new(1024 * MIB, Some(100 * MIB), Some(0), Some(0));
        let default = Budget::new(1024 * MIB, None, None, None);
        assert_eq!(budget.index_cache, 100 * MIB);
        assert_eq!(
            budget.work + 100 * MIB,
            default.work + default.index_cache + default.metadata_cache + default.row_cache
        );
    }
}
