//! Work of jobs that workers outside of this process do: tasks on Ray.
//!
//! A job publishes an [`Order`] with tasks. A worker does a task, writes what it makes to files that no version names, and
//! hands over a [`Part`]. The job checks each part with its [`CheckParts`], and continues as with files of its own: it
//! alone commits. [`RemoteWork`] knows no kind of job.

mod files;
mod order;
mod round;
mod work;

pub(super) use files::{WorkerFiles, is_damaged, refused};
pub use order::{Order, Part, Task};
pub(super) use order::{details, key_of};
pub(super) use round::CheckParts;
pub use work::{EndWork, RemoteWork};
