//! The engine as a library. One program, because each compiles the engine's futures anew, which takes
//! minutes.

mod appends;
mod branches;
mod changes;
mod compaction;
mod nearest;
mod parts;
mod tables;
mod texts;
