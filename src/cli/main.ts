#!/usr/bin/env node
import "../threads/young-generation.js";
import { optionHelp } from "../config/help.js";
import { ConfigError } from "../config/option.js";
import { failCommand } from "./fail.js";

const help = `joust serves Lance tables over HTTP.

  joust serve [ROOT] [options]          serves the tables in ROOT (default: ./joust-data)
  joust demo [--once | --stay]          starts a server with sample text and runs queries; on a terminal
                                        or with --stay it serves until Ctrl-C
  joust key create --name NAME [--role none|read|write|admin] [--expires TIME] [ROOT] [options]
                                        creates an API key and prints it once; without --role only grants
                                        give it privileges
  joust key list [ROOT] [options]       lists the keys without their secrets
  joust key rotate ID [--overlap TIME] [--expires TIME] [ROOT] [options]
                                        replaces a key; the former one is valid for the overlap [1d]
  joust key revoke ID [ROOT] [options]  revokes a key
  joust grant PRIVILEGES --on OBJECT --to SUBJECT [--filter SQL] [ROOT] [options]
  joust revoke PRIVILEGES --on OBJECT --from SUBJECT [ROOT] [options]
                                        grants or revokes privileges, such as select,insert; OBJECT is server,
                                        namespace:a$b or table:a$b$t, SUBJECT is key:ID, user:ISSUER#ID or
                                        group:NAME; with --filter only for rows where SQL is true
  joust grants [--on OBJECT] [--subject SUBJECT] [ROOT] [options]
                                        lists the grants
  joust maintain [ROOT] [--table NAME] [options]
                                        compacts tables, optimizes indices and removes old versions, also
                                        while servers use ROOT; prints a summary
  joust sql 'SELECT ...' [ROOT | --url URL [--api-key KEY | --api-key-file FILE]] [--param VALUE]
                  [--format table|csv|json|arrow|parquet] [--limit ROWS] [--rows ROWS]
                                        runs one SELECT on a ROOT, or any statement on the server at URL; a
                                        table shows --rows rows [40]
  joust --help | --version

Options. A flag overrides the environment (JOUST_LOG_LEVEL), and the environment overrides the TOML file:
${optionHelp()}
`;

async function main(args: readonly string[]): Promise<void> {
  const [command, ...rest] = args;
  if (args.includes("--help") || args.includes("-h") || command === "help") {
    process.stdout.write(help);
  } else if (command === "--version" || command === "-V") {
    const { versionText } = await import("./version.js");
    process.stdout.write(await versionText());
  } else if (command === "serve") {
    const { serve } = await import("./serve.js");
    await serve(rest);
  } else if (command === "demo") {
    const { demo } = await import("./demo.js");
    await demo(rest);
  } else if (command === "maintain") {
    const { maintain } = await import("./maintain.js");
    await maintain(rest);
  } else if (command === "sql") {
    const { sql } = await import("./sql.js");
    await sql(rest);
  } else if (command === "key") {
    const { key } = await import("./key.js");
    await key(rest);
  } else if (command === "grant" || command === "revoke" || command === "grants") {
    const { grant, listGrants, revoke } = await import("./grant.js");
    await { grant, revoke, grants: listGrants }[command](rest);
  } else {
    const problem = command === undefined ? "no command is given" : `${command} is not a command`;
    throw new ConfigError(
      `${problem}: try joust serve, joust demo, joust key, joust grant, joust maintain, joust sql or joust --help`,
    );
  }
}

await main(process.argv.slice(2)).catch(failCommand);
