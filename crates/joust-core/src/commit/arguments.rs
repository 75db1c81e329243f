//! The arguments of a commit, as Lance passes them to a handler.

use lance_io::object_store::ObjectStore;
use lance_table::format::{IndexMetadata, Manifest, Transaction};
use lance_table::io::commit::{
    CommitError, CommitHandler, ManifestLocation, ManifestNamingScheme, ManifestWriter,
};
use object_store::path::Path;

pub(super) struct Commit<'a> {
    pub manifest: &'a mut Manifest,
    pub indices: Option<Vec<IndexMetadata>>,
    pub base_path: &'a Path,
    pub object_store: &'a ObjectStore,
    pub manifest_writer: ManifestWriter,
    pub naming_scheme: ManifestNamingScheme,
    pub transaction: Option<Transaction>,
}

impl Commit<'_> {
    /// The path of the manifest that it writes.
    pub fn path(&self) -> Path {
        let version = self.manifest.version;
        self.naming_scheme.manifest_path(self.base_path, version)
    }

    /// Passes the commit on to a handler.
    pub async fn by(self, handler: &dyn CommitHandler) -> Result<ManifestLocation, CommitError> {
        handler
            .commit(
                self.manifest,
                self.indices,
                self.base_path,
                self.object_store,
                self.manifest_writer,
                self.naming_scheme,
                self.transaction,
            )
            .await
    }
}
