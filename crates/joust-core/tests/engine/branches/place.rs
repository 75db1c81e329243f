//! A table with branches, as servers see it and as crashes leave it.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use joust_core::{Engine, EngineOptions, Table};

use crate::sent::upload_numbers;

pub struct Place(tempfile::TempDir);

impl Place {
    /// With a table of the versions 1 and 2, which have three numbers and six.
    pub async fn new() -> (Self, Table) {
        let place = Self(tempfile::tempdir().unwrap());
        let table = place.server();
        table.create(upload_numbers(0..3), false).await.unwrap();
        table.append(upload_numbers(3..6)).await.unwrap();
        (place, table)
    }

    /// The table, as a server of its own sees it.
    pub fn server(&self) -> Table {
        let location = self.path("").display().to_string();
        let location = location.trim_end_matches('/');
        Engine::new(EngineOptions::default()).table(location, Default::default())
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.0.path().join("t.lance").join(path)
    }

    pub fn reference(&self, branch: &str) -> PathBuf {
        let name = branch.replace('/', "%2F");
        self.path(&format!("_refs/branches/{name}.json"))
    }

    /// What a crash leaves before the reference is written.
    pub fn half_made(&self, branch: &str, age: Duration) {
        fs::remove_file(self.reference(branch)).unwrap();
        let versions = self.path(&format!("tree/{branch}/_versions"));
        for file in fs::read_dir(versions).unwrap() {
            let file = fs::File::options()
                .write(true)
                .open(file.unwrap().path())
                .unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
        }
    }
}
