//! Loads versions from storage: the newest, and one that a client names.

use std::sync::Arc;

use lance::Dataset;
use lance::dataset::builder::DatasetBuilder;
use lance::session::Session;

use super::Handle;
use crate::commit::{self, OnBranch};
use crate::error::{Code, Error, Result};
use crate::names::{self, is_reference, unknown_branch};
use crate::table::ReadOptions;
use crate::table::current::Current;

impl Handle {
    /// Opens the newest version.
    pub(super) async fn load(&self, session: Arc<Session>) -> Result<Current> {
        let found = self.load_newest(session.clone()).await?;
        match self
            .pins
            .is_being_removed(&self.place, found.dataset.version_id())
        {
            // A clean-up after newer commits removed the version; no clean-up removes the newest.
            true => self.load_newest(session).await,
            false => Ok(found),
        }
    }

    /// A branch exists as long as its reference does, whatever its directory contains.
    async fn load_newest(&self, session: Arc<Session>) -> Result<Current> {
        self.links.check(&self.place.location)?;
        let branch = match &self.place.branch {
            None => None,
            Some(name) if !is_reference(names::Reference::Branch, name) => {
                return Err(unknown_branch(name));
            }
            Some(name) => {
                let reference = self.reference(name).await?;
                Some(OnBranch::open(&self.branches, name, reference).await?)
            }
        };
        let mut builder = DatasetBuilder::from_uri(&self.place.location)
            .with_session(session)
            .with_storage_options(self.storage_options.clone());
        if let Some(handler) =
            commit::handler(self.durability(), &self.place.location, branch.clone())
        {
            builder = builder.with_commit_handler(handler);
        }
        if let Some(name) = &self.place.branch {
            builder = builder.with_branch(name, None);
        }
        let dataset = builder
            .load()
            .await
            .map_err(|error| match &self.place.branch {
                Some(branch)
                    if error.is_not_found()
                        || matches!(error, lance::Error::RefNotFound { .. }) =>
                {
                    unknown_branch(branch)
                }
                None if error.is_not_found() => {
                    Error::new(Code::TableNotFound, "the table's files do not exist")
                }
                _ => Error::from(error),
            })?;
        Ok(self.opened(dataset, branch))
    }

    /// One version: the newest when `version` is `None`. It is not removed as long as the dataset exists.
    pub async fn at(&self, options: ReadOptions) -> Result<Arc<Dataset>> {
        let ReadOptions {
            version,
            not_before,
            min_version,
        } = options;
        // Another process may have created the unknown version meanwhile.
        let newest = self
            .current(not_before, min_version.max(version))
            .await?
            .dataset;
        let Some(version) = version.filter(|version| *version != newest.version_id()) else {
            return Ok(newest);
        };
        let missing = || {
            let newest = newest.version_id();
            Error::new(
                Code::TableVersionNotFound,
                format!("there is no version {version}; the newest is {newest}"),
            )
        };
        if version == 0 || version > newest.version_id() {
            return Err(missing());
        }
        let pin = self.pins.pin(&self.place, version);
        let _pin = pin.map_err(|removal| removal.error(version))?;
        match Box::pin(newest.checkout_version(version)).await {
            Ok(dataset) => {
                let dataset = Arc::new(dataset);
                self.pins.read(&self.place, &dataset);
                Ok(dataset)
            }
            Err(lance::Error::VersionNotFound { .. } | lance::Error::DatasetNotFound { .. }) => {
                Err(missing())
            }
            Err(error) if error.is_not_found() => Err(missing()),
            Err(error) => Err(error.into()),
        }
    }
}
