//! One budget for the memory of a process.
//!
//! [`Budget`] defines the shares: the program itself, the caches, and *work*, which is the memory of requests and jobs.
//! Work reserves from a [`Memory`] before it starts; a [`Reservation`] is passed along with the bytes and released when
//! they are freed. If too little is left, a request waits for a few seconds and a job without a limit. Many concurrent
//! clients are thus slowed down and in the end rejected (code 21), and the process is not killed for memory.
//!
//! A request never waits for memory while it holds the lock of a table: all requests that wait for that lock would wait
//! too, however little they need. `table/write_admission.rs` describes how a change of rows obtains both.
//!
//! Reservations:
//!
//! | for | bytes |
//! |---|---|
//! | an upload | its received bytes that are not freed yet, in any buffer ([`ipc`](crate::ipc)) |
//! | an upload that waits for a commit | its rows once more, for the written files |
//! | an upload that is written separately | [`Budget::writing`] for the buffers of its files and [`Budget::pieces`] in transit; a short one its rows once more |
//! | a query | its scan's read-ahead and its sort's memory, at most the size of the table; and the results of its expressions over the batches in flight |
//! | a statement with a Parquet answer | a row group besides, and the file's footer as it grows |
//! | an update, delete or merge | the same as a query, and [`Budget::writing`] |
//! | columns that are filled, cast or promoted | the same |
//! | a copy of a table through memory | its transfers, at most [`Budget::job`] |
//! | an index build, a compaction, a refresh | [`Budget::job`] |

mod budget;
mod pool;

pub use budget::{Budget, pieces};
pub use pool::{Memory, Patience, Reservation, Usage, Use, Uses};
