//! The standard streams of a process.

use std::io::{BufReader, Read};
use std::process::{Child, ChildStdin, ChildStdout};
use std::sync::Arc;

use parking_lot::Mutex;

/// The end of the error output that messages quote, bytes.
const QUOTED_OUTPUT: usize = 2_000;

/// The pipes to and from a process.
pub struct Pipes {
    pub input: ChildStdin,
    pub output: BufReader<ChildStdout>,
    /// The end of the error output.
    errors: Arc<Mutex<Vec<u8>>>,
}

impl Pipes {
    /// Takes them. `None` if the process was started without one of them.
    pub fn of(child: &mut Child) -> Option<Self> {
        let (input, output) = (child.stdin.take()?, child.stdout.take()?);
        let mut from = child.stderr.take()?;
        let errors = Arc::new(Mutex::new(Vec::new()));
        let kept = errors.clone();
        std::thread::spawn(move || {
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
        })
    }

    /// The end of the error output, for a message.
    pub fn quoted(&self) -> String {
        let errors = self.errors.lock();
        let text = String::from_utf8_lossy(&errors);
        match text.trim() {
            "" => String::new(),
            text => format!("; the end of its output: {text}"),
        }
    }
}
