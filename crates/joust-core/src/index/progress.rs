//! Progress of Lance's index builds.

use std::fmt;

use async_trait::async_trait;
use lance_index::progress::IndexBuildProgress;
use parking_lot::Mutex;

use crate::work::{Progress, WorkContext};

/// Forwards Lance's progress.
pub(crate) struct Reporter {
    work: WorkContext,
    now: Mutex<Progress>,
}

impl Reporter {
    pub fn new(work: WorkContext) -> Self {
        Self {
            work,
            now: Mutex::default(),
        }
    }

    fn report(&self, change: impl FnOnce(&mut Progress)) {
        let mut now = self.now.lock();
        change(&mut now);
        self.work.report_progress(now.clone());
    }
}

impl fmt::Debug for Reporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reporter").finish_non_exhaustive()
    }
}

#[async_trait]
impl IndexBuildProgress for Reporter {
    async fn stage_start(&self, stage: &str, total: Option<u64>, _unit: &str) -> lance::Result<()> {
        self.report(|now| {
            *now = Progress {
                stage: stage.to_string(),
                completed: 0,
                total,
            };
        });
        Ok(())
    }

    async fn stage_progress(&self, stage: &str, completed: u64) -> lance::Result<()> {
        self.report(|now| {
            if now.stage == stage {
                now.completed = completed;
            }
        });
        Ok(())
    }

    async fn stage_complete(&self, stage: &str) -> lance::Result<()> {
        self.report(|now| {
            if now.stage == stage {
                now.completed = now.total.unwrap_or(now.completed);
            }
        });
        Ok(())
    }
}
