//! The service over loopback, with clients of tonic and arrow-flight.

mod access;
mod fake;
mod ingest;
mod lancedb;
mod metadata;
mod patience;
mod prepared;
mod running;
mod statements;
