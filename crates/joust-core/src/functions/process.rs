//! The process of a worker, and its end.

use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::OwnedSemaphorePermit;

/// How long a process may take to exit after it has closed its output.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// The process, shared by the worker, which may kill it, and its thread, which waits for its end.
pub struct Process {
    child: Mutex<Option<Child>>,
    is_killed: AtomicBool,
    /// Not the thread's: it waits for the end of the output, which a child that has left the process group may hold open.
    permit: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Process {
    pub fn new(permit: OwnedSemaphorePermit) -> Self {
        Self {
            child: Mutex::default(),
            is_killed: AtomicBool::new(false),
            permit: Mutex::new(Some(permit)),
        }
    }

    pub fn put(&self, child: Child) {
        *self.child.lock() = Some(child);
        if self.is_killed.load(Ordering::Acquire) {
            self.kill();
        }
    }

    /// Ends the process and those that it has started.
    pub fn kill(&self) {
        self.is_killed.store(true, Ordering::Release);
        if let Some(child) = self.child.lock().as_mut() {
            kill(child);
        }
        drop(self.permit.lock().take());
    }

    /// Waits for the end of the process, which has closed its output or is not needed any more. Says why it ended.
    pub fn end(&self) -> String {
        let Some(mut child) = self.child.lock().take() else {
            return "its process has ended".to_string();
        };
        // A process that exits by itself keeps its exit code.
        let end = Instant::now() + EXIT_TIMEOUT;
        while !self.is_killed.load(Ordering::Acquire) && !has_exited(&child) && Instant::now() < end
        {
            std::thread::sleep(Duration::from_millis(5));
        }
        kill(&mut child);
        match child.wait() {
            Ok(status) => reason(status),
            Err(_) => "its process has ended".to_string(),
        }
    }
}

/// Whether a process has ended. Its id stays in use until `wait`, so its group can still be killed.
#[cfg(target_os = "linux")]
fn has_exited(child: &Child) -> bool {
    let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: `waitid` writes to `info` only, which all zeros initialize.
    unsafe {
        libc::waitid(libc::P_PID, child.id(), info.as_mut_ptr(), options) != 0
            || info.assume_init().si_pid() != 0
    }
}

/// On other systems it is not known, and the process gets a short time.
#[cfg(not(target_os = "linux"))]
fn has_exited(_child: &Child) -> bool {
    std::thread::sleep(Duration::from_millis(200));
    true
}

fn kill(child: &mut Child) {
    #[cfg(target_os = "linux")]
    if let Ok(group) = i32::try_from(child.id()) {
        // SAFETY: `kill` reads no memory. The process leads its group, and its id is in use until `wait`.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
    let _ = child.kill();
}

#[cfg(unix)]
fn reason(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;

    // The numbers are equal on Linux and macOS.
    const XCPU: i32 = 24;
    match (status.signal(), status.code()) {
        (Some(XCPU), _) => "its process took more CPU time than --function-cpu-time".to_string(),
        (Some(signal), _) => format!("its process was ended by signal {signal}"),
        (None, Some(code)) => format!("its process ended with exit code {code}"),
        (None, None) => "its process has ended".to_string(),
    }
}

#[cfg(not(unix))]
fn reason(status: ExitStatus) -> String {
    format!("its process ended: {status}")
}
