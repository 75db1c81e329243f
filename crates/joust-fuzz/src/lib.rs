//! Fuzz targets of the engine.
//!
//! A target is a function of bytes that a client controls. It panics if the engine violates a property that holds for
//! every input. `npm run test:fuzz` runs the targets with libFuzzer; `tests/corpus.rs` replays the files of `corpus/`,
//! which has an example of each kind of input and every input that once failed.

// A panic is how a target reports a finding.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod targets;
mod texts;
mod world;

pub use texts::Texts;
pub use world::World;
