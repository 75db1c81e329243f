//! The commit policies: what each kind of change requires of its commit.

use std::time::Duration;

use super::retry::Retry;

/// How long joust, as Lance, builds a change again after another commit came first.
const PATIENCE: Duration = Duration::from_secs(30);

/// The kind of change that ends in a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Policy {
    /// Changes that Lance commits without a policy: restore, clone, creation of a branch, removal of an index.
    #[default]
    Plain,
    /// A group of uploads. If it fails, joust commits each set of files alone.
    Append,
    /// The first version of a table.
    Create,
    /// The replacement of schema and rows.
    Overwrite,
    /// A multipart write. The id of its transaction identifies it.
    Multipart,
    /// Update, delete and merge. Lance reads rows again that another commit changed.
    RowChange,
    /// A change of columns or of metadata. A change that writes values builds its first attempt without the lock, so that
    /// inserts continue.
    SchemaChange,
    /// An index that Lance builds.
    IndexBuild,
    /// Segments of an index that workers built. After a conflict, they build those again whose rows have changed.
    IndexSegments,
    /// Segments of a text index, when it is built and when it is optimized.
    TextIndex,
    /// The optimization of an index. The commits of a text index are `TextIndex`.
    OptimizeIndices,
    /// A compaction.
    Compaction,
    /// A backfill and a view refresh, which replace values of all rows.
    Rewrite,
}

/// When a change takes the [commit lock](super::lock).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    Never,
    /// Before the work that ends in the commit.
    First,
    /// After its first lost commit, because the work before the commit is long. The change then holds the lock until
    /// it ends.
    AfterConflict,
}

/// When the files of a version are synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fsync {
    /// All that the version may name, in the commit.
    InCommit,
    /// When they were staged. The commit waits for those whose fsync still runs.
    Staged,
}

/// Which [requests](super::request_stamp) a commit names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stamps {
    None,
    /// The idempotent request that makes the change, if there is one.
    Request,
    /// The idempotent requests among the uploads of a group.
    Uploads,
}

/// Who waits for a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Its change, which is not cancelled.
    Awaited,
    /// Lance or a client may give the change up. The [commit continues](super::outcome), and joust reads its outcome.
    Confirmed,
}

/// What a policy requires.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    pub lock: Lock,
    pub fsync: Fsync,
    pub stamps: Stamps,
    pub outcome: Outcome,
    /// What joust does after Lance has reported that another commit came first.
    pub retry: Retry,
}

impl Policy {
    /// The table of all policies.
    #[rustfmt::skip]
    pub(super) const fn terms(self) -> Terms {
        use Fsync::{InCommit, Staged};
        use Lock::{AfterConflict, First};
        use Outcome::{Awaited, Confirmed};
        use Retry::{During, Never, Times};
        use Stamps::{Request, Uploads};
        let (lock, fsync, stamps, outcome, retry) = match self {
            Self::Plain           => (Lock::Never,   InCommit, Stamps::None, Awaited,   Never),
            Self::Append          => (First,         Staged,   Uploads,      Awaited,   Never),
            Self::Create          => (AfterConflict, InCommit, Request,      Awaited,   Never),
            Self::Overwrite       => (AfterConflict, Staged,   Request,      Awaited,   Never),
            Self::Multipart       => (First,         InCommit, Stamps::None, Awaited,   Never),
            Self::RowChange       => (AfterConflict, InCommit, Request,      Confirmed, During(PATIENCE)),
            Self::SchemaChange    => (First,         InCommit, Stamps::None, Awaited,   During(PATIENCE)),
            Self::IndexBuild      => (AfterConflict, InCommit, Request,      Awaited,   Never),
            Self::IndexSegments   => (First,         InCommit, Request,      Awaited,   Times(5)),
            Self::TextIndex       => (First,         InCommit, Request,      Confirmed, Times(3)),
            Self::OptimizeIndices => (AfterConflict, InCommit, Stamps::None, Awaited,   Times(5)),
            Self::Compaction      => (First,         InCommit, Stamps::None, Awaited,   Times(5)),
            Self::Rewrite         => (First,         InCommit, Stamps::None, Awaited,   Times(20)),
        };
        Terms { lock, fsync, stamps, outcome, retry }
    }

    /// Which requests its commits name.
    pub(crate) const fn stamps(self) -> Stamps {
        self.terms().stamps
    }
}
