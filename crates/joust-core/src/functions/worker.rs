//! A worker: a process that runs a function, and the thread that talks to it.

use std::io::ErrorKind;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::Schema;
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::pipes::Pipes;
use super::process::Process;
use super::{Function, FunctionSettings, frames};
use crate::error::{Code, Error, Result};

/// The program of the process. Workers on other hosts run it too.
pub const PROGRAM: &str = concat!(include_str!("call.py"), "\n\n", include_str!("worker.py"));
/// How long a process may take until it has loaded its function: it may load a model.
const START_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// Files that a process may have open.
const OPEN_FILES: u64 = 256;

/// A process with a loaded function. Dropping it ends the process.
pub struct Worker {
    calls: mpsc::Sender<Call>,
    process: Arc<Process>,
    timeout: Duration,
    loaded: Instant,
}

/// A process ended while it loaded its function, or during a call; the message says why.
#[derive(Debug)]
pub struct Ended(pub String);

/// The values of a call.
pub struct Reply {
    pub values: ArrayRef,
    /// Rows of the call, and why the function failed for them.
    pub failures: Vec<(usize, String)>,
}

struct Call {
    arguments: RecordBatch,
    reply: oneshot::Sender<Result<Result<Reply, Ended>>>,
}

/// The first frame to a process. Its body is the function's payload.
#[derive(Serialize)]
struct Start<'a> {
    name: &'a str,
    sha256: &'a str,
    struct_field: Option<&'a str>,
    expands: bool,
    memory_bytes: u64,
    cpu_seconds: u64,
    open_files: u64,
    network: bool,
}

/// The answer to it.
#[derive(Deserialize)]
struct Started {
    /// Why the function cannot run.
    error: Option<String>,
    /// Why the process has a network that it must not have.
    network: Option<String>,
}

/// The header of the answer to a call.
#[derive(Deserialize)]
struct Called {
    failures: Vec<(usize, String)>,
}

impl Worker {
    /// Starts a process and loads the function. It keeps the permit until it is killed.
    pub async fn start(
        settings: Arc<FunctionSettings>,
        function: Arc<Function>,
        permit: OwnedSemaphorePermit,
    ) -> Result<Result<Self, Ended>> {
        let process = Arc::new(Process::new(permit));
        let (calls, receiver) = mpsc::channel();
        let (on_start, started) = oneshot::channel();
        let mut worker = Self {
            calls,
            process: process.clone(),
            timeout: settings.call_timeout,
            loaded: Instant::now(),
        };
        let name = function.name.clone();
        // A thread of its own: on Linux, the process ends with the thread that started it.
        let spawned = std::thread::Builder::new()
            .name("joust-function".to_string())
            .spawn(move || serve(&process, &settings, &function, &receiver, on_start));
        spawned.map_err(|error| Error::unavailable("a thread could not be started", error))?;
        match tokio::time::timeout(START_TIMEOUT, started).await {
            Ok(Ok(started)) => {
                worker.loaded = Instant::now();
                started.map(|loaded| loaded.map(|()| worker))
            }
            Ok(Err(_)) => Err(unexpected(&name)),
            Err(_) => Err(Error::invalid(format!(
                "the function `{name}` could not be loaded within {} s",
                START_TIMEOUT.as_secs()
            ))),
        }
    }

    /// How long the function has been loaded.
    pub fn age(&self) -> Duration {
        self.loaded.elapsed()
    }

    /// Calls the function. After [`Ended`] the worker is of no use.
    pub async fn call(&self, arguments: RecordBatch) -> Result<Result<Reply, Ended>> {
        let (reply, replied) = oneshot::channel();
        if self.calls.send(Call { arguments, reply }).is_err() {
            return Ok(Err(Ended("its process had ended before".to_string())));
        }
        match tokio::time::timeout(self.timeout, replied).await {
            Ok(Ok(reply)) => reply,
            // The thread has panicked.
            Ok(Err(_)) => Ok(Err(Ended("its process sent an invalid reply".to_string()))),
            Err(_) => {
                self.process.kill();
                Ok(Err(Ended(format!(
                    "the call took longer than {} ms (--function-timeout)",
                    self.timeout.as_millis()
                ))))
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.process.kill();
    }
}

fn unexpected(name: &str) -> Error {
    Error::new(
        Code::Internal,
        format!("the process of the function `{name}` could not be started"),
    )
}

/// The life of a process, on a thread of its own.
fn serve(
    process: &Process,
    settings: &FunctionSettings,
    function: &Function,
    calls: &mpsc::Receiver<Call>,
    on_start: oneshot::Sender<Result<Result<(), Ended>>>,
) {
    let directory = std::env::temp_dir().join(format!("joust-function-{}", uuid::Uuid::new_v4()));
    let begun = private_directory(&directory)
        .and_then(|()| command(settings, &directory).spawn())
        .map_err(|error| cannot_start(settings, error));
    let outcome = begun.and_then(|mut child| {
        let pipes = Pipes::of(&mut child).ok_or_else(|| unexpected(&function.name));
        process.put(child);
        let mut pipes = pipes?;
        let loaded = load(process, settings, function, &mut pipes)?;
        Ok(loaded.map(|()| pipes))
    });
    match outcome {
        Ok(Ok(mut pipes)) => {
            if on_start.send(Ok(Ok(()))).is_ok() {
                answer(process, function, &mut pipes, calls);
            }
        }
        Ok(Err(ended)) => drop(on_start.send(Ok(Err(ended)))),
        Err(error) => drop(on_start.send(Err(error))),
    }
    process.end();
    let _ = std::fs::remove_dir_all(&directory);
}

/// Other users of the host may not read what a function writes.
fn private_directory(path: &std::path::Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

fn command(settings: &FunctionSettings, directory: &std::path::Path) -> Command {
    let mut command = Command::new(&settings.python);
    command
        // Isolated: it neither reads PYTHON* variables nor imports from the working directory.
        .args(["-I", "-B", "-c", PROGRAM])
        .current_dir(directory)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("LANG", "C.UTF-8")
        .env("HOME", directory)
        .env("TMPDIR", directory)
        .envs(settings.environment.iter().map(|(key, value)| (key, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command
}

fn cannot_start(settings: &FunctionSettings, error: std::io::Error) -> Error {
    let python = settings.python.display();
    Error::unavailable(
        format!(
            "Python could not be started; --python must name an interpreter: {python}: {error}"
        ),
        error,
    )
}

/// Sends the function, and waits until it is loaded.
fn load(
    process: &Process,
    settings: &FunctionSettings,
    function: &Function,
    pipes: &mut Pipes,
) -> Result<Result<(), Ended>> {
    let start = Start {
        name: &function.name,
        sha256: &function.sha256,
        struct_field: function.struct_field.as_deref(),
        expands: function.expands,
        memory_bytes: settings.memory_bytes,
        cpu_seconds: settings.cpu_time.as_secs().max(1),
        open_files: OPEN_FILES,
        network: settings.network,
    };
    let output = Schema::new(vec![function.output.clone()]);
    let output = frames::encode(&output, &[])?;
    let started = frames::write(&mut pipes.input, &start, &function.payload)
        .and_then(|()| frames::write(&mut pipes.input, &(), &output))
        .and_then(|()| frames::read::<Started>(&mut pipes.output));
    let Ok((started, _)) = started else {
        let why = process.end();
        return Ok(Err(Ended(format!("{why}{}", pipes.quoted()))));
    };
    if let Some(reason) = started.network {
        static ONCE: AtomicBool = AtomicBool::new(false);
        if !ONCE.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                reason,
                "functions have a network: this system cannot forbid it"
            );
        }
    }
    match started.error {
        None => Ok(Ok(())),
        Some(error) => Err(not_loaded(&function.name, &error)),
    }
}

/// The error of a function that cannot be loaded.
pub fn not_loaded(name: &str, why: &str) -> Error {
    Error::invalid(format!("the function `{name}` could not be loaded: {why}"))
}

/// Answers calls until the worker is dropped or the process ends.
fn answer(process: &Process, function: &Function, pipes: &mut Pipes, calls: &mpsc::Receiver<Call>) {
    while let Ok(Call { arguments, reply }) = calls.recv() {
        let rows = arguments.num_rows();
        let called = frames::encode(&arguments.schema(), &[&arguments])
            .map_err(std::io::Error::other)
            .and_then(|body| frames::write(&mut pipes.input, &(), &body))
            .and_then(|()| frames::read::<Called>(&mut pipes.output));
        let (called, body) = match called {
            Ok(called) => called,
            Err(error) => {
                let why = match error.kind() {
                    ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe => process.end(),
                    _ => format!("its process sent an invalid reply: {error}"),
                };
                let _ = reply.send(Ok(Err(Ended(format!("{why}{}", pipes.quoted())))));
                return;
            }
        };
        let answer = values_of(&body, function, rows, &called.failures).map(|values| {
            Ok(Reply {
                values,
                failures: called.failures,
            })
        });
        let _ = reply.send(answer);
    }
}

/// The values in the body of an answer.
fn values_of(
    body: &[u8],
    function: &Function,
    rows: usize,
    failures: &[(usize, String)],
) -> Result<ArrayRef> {
    let batch = frames::decode(body)?;
    let are_failures_valid = failures.iter().all(|(row, _)| *row < rows);
    match batch.columns() {
        [values]
            if values.len() == rows
                && values.data_type() == function.output.data_type()
                && are_failures_valid =>
        {
            Ok(values.clone())
        }
        _ => Err(Error::new(
            Code::Internal,
            format!(
                "the process of the function `{}` sent other values",
                function.name
            ),
        )),
    }
}
