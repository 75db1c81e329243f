//! One budget for what a process holds in memory.
//!
//! [`Budget`] says who may have how much: the program itself, the caches, and *work*, which is all
//! that comes and goes with requests and jobs. Work is taken from a [`Memory`] before it is done and
//! given back when its bytes are freed: a [`Reservation`] travels with them. Who finds too little left
//! waits, a request for a few seconds and a job as long as it takes, so that many clients at once are
//! slowed down and in the end refused (code 21) instead of the process being killed for memory.
//!
//! Nobody waits for memory who has a turn of a table: all who wait for that turn would wait too, however
//! little they need. `table/write_admission.rs` says how a change of rows comes to both.
//!
//! What is taken:
//!
//! | for | bytes |
//! |---|---|
//! | an upload | what has come of it and is not freed yet, wherever it went ([`ipc`](crate::ipc)) |
//! | an upload that waits for a commit | its rows once more, for the files they become |
//! | an upload that is written by itself | [`Budget::writing`] for the buffers of its files and [`Budget::pieces`] on their way; a short one its rows once more |
//! | a query | what its scan may read ahead and its sort may hold; no more than the table has; and what its expressions make of the batches that are evaluated at the same time |
//! | an update, delete or merge | the same, and [`Budget::writing`] |
//! | columns that are filled, cast or promoted | the same |
//! | a copy of a table through memory | what its transfers hold, at most [`Budget::job`] |
//! | an index build, a compaction, a refresh | [`Budget::job`] |

mod budget;
mod pool;

pub use budget::{Budget, pieces};
pub use pool::{Memory, Patience, Reservation, Usage, Use, Uses};
