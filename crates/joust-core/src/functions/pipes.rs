//! The standard streams of a process.

use std::io::{BufReader, Read};
use std::process::{Child, ChildStdin, ChildStdout};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The end of the error output that messages quote, bytes.
const QUOTED_OUTPUT: usize = 2_000;
/// How long a message waits for the end of the error output.
const READ_TIME: Duration = Duration::from_millis(100);

/// The pipes to and from a process.
pub struct Pipes {
    pub input: ChildStdin,
    pub output: BufReader<ChildStdout>,
    /// The end of the error output.
    errors: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Pipes {
    /// Takes them. `None` if the process was started without one of them.
    pub fn of(child: &mut Child) -> Option<Self> {
        let (input, output) = (child.stdin.take()?, child.stdout.take()?);
        let mut from = child.stderr.take()?;
        let errors = Arc::new(Mutex::new(Vec::new()));
        let kept = errors.clone();
        let reader = std::thread::spawn(move || {
            let mut piece = [0; 4_096];
            while let Ok(length @ 1..) = from.read(&mut piece) {
                let mut kept = kept.lock();
                kept.extend_from_slice(&piece[..length]);
                let surplus = kept.len().saturating_sub(QUOTED_OUTPUT);
                kept.drain(..surplus);
            }
        });
        Some(Self {
            input,
            output: BufReader::new(output),
            errors,
            reader,
        })
    }

    /// The end of the error output, for a message.
    pub fn quoted(&self) -> String {
        // The last lines of a process that has ended may not be read yet.
        let end = Instant::now() + READ_TIME;
        while !self.reader.is_finished() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        let errors = self.errors.lock();
        let text = String::from_utf8_lossy(&errors);
        match text.trim() {
            "" => String::new(),
            text => format!("; the end of its output: {text}"),
        }
    }
}
