//! Lance without a server: what `npm run bench` measures joust against.
//!
//! Takes commands as lines of JSON on standard input and answers each with a line of JSON on standard
//! output, `{"error": ...}` where it failed. One session and one open handle per table, as many
//! threads as joust has, the allocator that joust has: the most that a program gets out of Lance by
//! its public interface.

mod ask;
mod command;
mod load;
mod read;
mod tables;
mod write;

use std::io::{BufRead, Write};

use command::Command;
use serde_json::{Value, json};
use tables::Tables;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Error = Box<dyn std::error::Error + Send + Sync>;
type Result<T> = std::result::Result<T, Error>;

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let mut tables = Tables::new();
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let answer = serde_json::from_str(&line?)
            .map_err(Error::from)
            .and_then(|command| runtime.block_on(obey(&mut tables, command)))
            .unwrap_or_else(|error| json!({ "error": error.to_string() }));
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

async fn obey(tables: &mut Tables, command: Command) -> Result<Value> {
    match command {
        Command::Open { table, path } => {
            tables.open(&table, &path).await?;
            Ok(json!({}))
        }
        Command::Index { table, index } => {
            write::index(tables, &table, &index).await?;
            Ok(json!({}))
        }
        Command::Answer { table, ask } => {
            let answer = ask.run(&tables.get(&table)?).await?;
            Ok(json!({ "rows": answer.rows, "ids": answer.ids() }))
        }
        Command::Load {
            table,
            asks,
            clients,
            seconds,
        } => {
            let measured = load::run(&tables.get(&table)?, asks, clients, seconds).await?;
            Ok(serde_json::to_value(measured)?)
        }
        Command::Ingest { source, path } => {
            let rows = write::ingest(&source, &path).await?;
            Ok(json!({ "rows": rows }))
        }
    }
}
