//! Flight SQL over gRPC, without Lance and without Node.
//!
//! The [`Backend`] decides about names, users and time, and runs statements. This crate does the protocol: [`Server`]
//! listens, [`access`] identifies the caller of each call before it reads a message, [`service`] answers calls, and
//! [`streams`] sends rows as fast as the client reads them.

mod access;
mod backend;
mod calls;
mod checked;
mod client;
mod connection;
mod heartbeat;
mod ids;
mod info;
mod ingest;
mod lock;
mod metadata;
mod parameters;
mod patient;
mod prepared;
mod server;
mod service;
mod session;
mod sql_info;
mod status;
mod streams;
mod ticket;
mod types;

pub use backend::{
    Backend, BatchStream, Context, Described, Execution, Existing, Functions, Identified, Incoming,
    Ingest, Outcome, Report, Scope, Statement,
};
pub use client::Patience;
pub use server::{Certificate, Options, Server, Stats};
pub use status::{of_code, with_cause, with_retry_after};
pub use tonic::{Code, Status};

#[cfg(test)]
mod tests;
