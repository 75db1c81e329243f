//! A long file, written piece by piece.

use std::fs::{File, remove_file};
use std::io::{ErrorKind, Result, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use futures::FutureExt;
use object_store::{MultipartUpload, PutPayload, PutResult, UploadPart};
use tokio::sync::Mutex;

use super::store::{generic, unnamed};
use crate::blocking_executor::step;
use crate::storage::atomic_create::create;

/// A file that is being written. One that is not completed is not there.
#[derive(Debug)]
pub(crate) struct MultipartFile {
    file: Arc<Mutex<File>>,
    /// Where the next piece begins.
    end: u64,
    synced: bool,
    /// What to remove.
    unfinished: Option<PathBuf>,
}

impl MultipartFile {
    /// Makes the file. `synced`: the disk has it when it is complete, and begins with each piece once that is
    /// written.
    pub fn begin(path: PathBuf, synced: bool) -> Result<Self> {
        Ok(Self {
            file: Arc::new(Mutex::new(create(&path, false)?)),
            end: 0,
            synced,
            unfinished: Some(path),
        })
    }
}

#[async_trait]
impl MultipartUpload for MultipartFile {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let (at, synced) = (self.end, self.synced);
        self.end += data.content_length() as u64;
        let file = self.file.clone();
        let written = async move {
            // A system writes one piece of a file after the other: those that wait need no thread.
            let mut file = file.lock_owned().await;
            step(move || {
                file.seek(SeekFrom::Start(at))?;
                data.iter().try_for_each(|bytes| file.write_all(bytes))?;
                match synced {
                    true => begin_to_disk(&file, at, data.content_length()),
                    false => Ok(()),
                }
            })
            .await
            .map_err(generic)
        };
        written.boxed()
    }

    async fn complete(&mut self) -> object_store::Result<PutResult> {
        let file = self.file.clone().lock_owned().await;
        let synced = self.synced;
        let done = step(move || {
            // Somebody has removed the table. Lance, which gives a file its name at the end, would fail too.
            if !has_name(&file)? {
                return Err(ErrorKind::NotFound.into());
            }
            // By the one who wrote it: a system may tell nobody else that it has lost what was written.
            if synced { file.sync_all() } else { Ok(()) }
        });
        done.await.map_err(generic)?;
        self.unfinished = None;
        Ok(unnamed())
    }

    async fn abort(&mut self) -> object_store::Result<()> {
        match self.unfinished.take() {
            Some(path) => step(|| removed(path)).await.map_err(generic),
            None => Ok(()),
        }
    }
}

impl Drop for MultipartFile {
    fn drop(&mut self) {
        if let Some(path) = self.unfinished.take() {
            let _ = remove_file(path);
        }
    }
}

fn removed(path: PathBuf) -> Result<()> {
    match remove_file(path) {
        // Somebody else did.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

#[cfg(unix)]
fn has_name(file: &File) -> Result<bool> {
    use std::os::unix::fs::MetadataExt;
    Ok(file.metadata()?.nlink() > 0)
}

/// Others remove no file that is open.
#[cfg(not(unix))]
fn has_name(_: &File) -> Result<bool> {
    Ok(true)
}

/// Has the system begin to write a part of a file to the disk, and waits for none of it.
#[cfg(target_os = "linux")]
fn begin_to_disk(file: &File, at: u64, bytes: usize) -> Result<()> {
    use std::os::fd::AsRawFd;
    let (Ok(at), Ok(bytes)) = (at.try_into(), bytes.try_into()) else {
        return Ok(());
    };
    let flags = libc::SYNC_FILE_RANGE_WRITE;
    // SAFETY: the call has no access to memory, and the file is open as long as it is borrowed.
    if unsafe { libc::sync_file_range(file.as_raw_fd(), at, bytes, flags) } == 0 {
        return Ok(());
    }
    let error = std::io::Error::last_os_error();
    match error.raw_os_error() {
        // What the disk does not take now it may not be asked for again.
        Some(libc::EIO | libc::ENOSPC | libc::EDQUOT | libc::EROFS) => Err(error),
        // A file system, or a sandbox, that has no such call: the sync at the end does all.
        _ => Ok(()),
    }
}

/// Others have no such call: they begin when they are asked to sync.
#[cfg(not(target_os = "linux"))]
fn begin_to_disk(_: &File, _: u64, _: usize) -> Result<()> {
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
#[path = "multipart_tests.rs"]
mod tests;
