//! The Flight SQL server. JavaScript decides about names, users and time; rows do not pass it.

mod backend;
mod call;
mod ingest;
mod server;
