//! A long local file, written part by part.

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

/// A file that is being written. It is removed if it is not completed.
#[derive(Debug)]
pub(crate) struct MultipartFile {
    file: Arc<Mutex<File>>,
    /// Offset of the next part.
    end: u64,
    synced: bool,
    /// The path to remove on failure.
    unfinished: Option<PathBuf>,
}

impl MultipartFile {
    /// Creates the file. `synced`: syncs the complete file, and starts to write out each part once it is
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
            // The system writes the parts of a file one after the other: waiting parts need no thread.
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
            // The table was removed. Lance, which names a file at its end, would fail too.
            if !has_name(&file)? {
                return Err(ErrorKind::NotFound.into());
            }
            // With the descriptor that wrote it: the system may report lost writes to no other.
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
        // It was removed already.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

#[cfg(unix)]
fn has_name(file: &File) -> Result<bool> {
    use std::os::unix::fs::MetadataExt;
    Ok(file.metadata()?.nlink() > 0)
}

/// Other systems do not remove an open file.
#[cfg(not(unix))]
fn has_name(_: &File) -> Result<bool> {
    Ok(true)
}

/// Starts to write a range of a file to the disk, and does not wait for it.
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
        // A failed write-out may not be reported again by the final fsync.
        Some(libc::EIO | libc::ENOSPC | libc::EDQUOT | libc::EROFS) => Err(error),
        // The file system or sandbox lacks this call: the final fsync does all.
        _ => Ok(()),
    }
}

/// Other systems lack this call: they start with the fsync.
#[cfg(not(target_os = "linux"))]
fn begin_to_disk(_: &File, _: u64, _: usize) -> Result<()> {
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
#[path = "multipart_tests.rs"]
mod tests;
