import { javaClients } from "./clients/java.mjs";
import { nodeClients } from "./clients/node.mjs";
import { pythonClients } from "./clients/python.mjs";
import { rustClients } from "./clients/rust.mjs";
import { schemathesisClients } from "./clients/schemathesis.mjs";
import { reportCounts } from "./counts.mjs";

/** Each resolves with the counts of its suites, by their names. */
const languages = {
  Node: nodeClients,
  Python: pythonClients,
  Java: javaClients,
  schemathesis: schemathesisClients,
  Rust: rustClients,
};
/** Run only if they are named, because their compilation takes too long. */
const named = ["Rust"];

/** `npm run test:clients -- [NAME...]`: tests unmodified clients against the built server. */
export async function run(args) {
  const counts = {};
  for (const language of chosenLanguages(args)) {
    const suites = await languages[language]();
    for (const [name, count] of Object.entries(suites)) counts[`clients (${name})`] = count;
  }
  return reportCounts(counts);
}

function chosenLanguages(args) {
  const names = Object.keys(languages);
  const unknown = args.find((arg) => !names.some((name) => name.toLowerCase() === arg));
  if (unknown !== undefined) {
    throw new Error(`unknown client ${unknown}: use ${names.join(", ").toLowerCase()}`);
  }
  return names.filter((name) =>
    args.length === 0 ? !named.includes(name) : args.includes(name.toLowerCase()),
  );
}
