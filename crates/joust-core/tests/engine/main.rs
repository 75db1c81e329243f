//! The engine as a library. One program, because each compiles the engine's futures anew, which takes
//! minutes.

#![allow(clippy::unwrap_used)]

mod appends;
mod blobs;
mod branches;
mod changes;
mod clones;
mod compaction;
mod conditions;
mod deadlines;
mod index_segments;
mod json;
mod long;
mod long_files;
mod nearest;
mod orders;
mod own_names;
mod parts;
mod place;
mod published;
mod remote_compaction;
mod row_filters;
mod sent;
mod tables;
mod texts;
mod views;
