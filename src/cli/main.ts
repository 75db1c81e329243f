#!/usr/bin/env node
import "../threads/young-generation.js";
import { optionHelp } from "../config/help.js";
import { ConfigError } from "../config/option.js";
import { failCommand } from "./fail.js";

const help = `joust serves Lance tables over HTTP.

  joust serve [ROOT] [options]          serves the tables in ROOT (./joust-data when not given)
  joust demo [--once | --stay]          loads real text into a server of its own and queries it; serves until
                                        Ctrl-C on a terminal or with --stay
  joust key create --name NAME [--role read|write|admin] [ROOT] [options]
                                        makes an API key and prints it once
  joust key list [ROOT] [options]       lists the keys, without their secrets
  joust key revoke ID [ROOT] [options]  makes a key useless
  joust maintain [ROOT] [--table NAME] [options]
                                        compacts, brings indexes up to date and removes old versions,
                                        also while servers run on ROOT; says what was done
  joust sql 'SELECT ...' [ROOT] [--url URL] [--format table|csv|json|arrow] [--param VALUE]
                                        runs one SELECT on a server, or on a ROOT that it opens itself
  joust --help | --version

Options, as flags, as JOUST_... in the environment (JOUST_LOG_LEVEL) or in a TOML file, in this order of strength:
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
  } else {
    const asked = command === undefined ? "no command is given" : `${command} is no command`;
    throw new ConfigError(
      `${asked}: try joust serve, joust demo, joust key, joust maintain, joust sql or joust --help`,
    );
  }
}

await main(process.argv.slice(2)).catch(failCommand);
