//! A table with branches, as servers see it and as crashes leave it.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use joust_core::ipc::UploadReader;
use joust_core::{Engine, EngineOptions, Table, Upload};

use crate::sent::{numbers, stream, upload_numbers};

/// An upload that is too long to be held in memory, and whose end is still to come.
pub struct Long {
    push: Upload,
    last: Vec<u8>,
}

impl Long {
    pub fn new() -> (Self, UploadReader, Vec<u8>) {
        let (push, read) = Engine::new(EngineOptions::default()).upload();
        let parts: Vec<_> = (0..10)
            .map(|part| numbers(part * 100_000..(part + 1) * 100_000))
            .collect();
        let mut first = stream(&parts);
        let last = first.split_off(first.len() - 100);
        (Self { push, last }, read, first)
    }

    pub async fn begin(&self, first: &[u8]) {
        for chunk in first.chunks(1 << 20) {
            if !self.push.push(chunk) {
                self.push.drained().await;
            }
        }
    }

    pub fn end(self) {
        self.push.push(&self.last);
        self.push.finish();
    }
}

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

    /// Waits until rows of a branch are in a file.
    pub async fn being_written(&self, branch: &str) {
        let data = self.path(&format!("tree/{branch}/data"));
        while fs::read_dir(&data).map_or(0, Iterator::count) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
