import { javaClients } from "./clients/java.mjs";
import { nodeClients } from "./clients/node.mjs";
import { pythonClients } from "./clients/python.mjs";
import { tell } from "./counts.mjs";

const suites = { Node: nodeClients, Python: pythonClients, Java: javaClients };

/** Real clients, unmodified, against the built server: all languages, or those that are named. */
export async function run(args) {
  const counts = [];
  for (const language of named(args)) counts.push([language, await suites[language]()]);
  console.log();
  for (const [language, count] of counts) tell(`clients (${language})`, count);
  return counts.some(([, { failed }]) => failed > 0) ? 1 : 0;
}

function named(args) {
  const languages = Object.keys(suites);
  const unknown = args.find((arg) => !languages.some((name) => name.toLowerCase() === arg));
  if (unknown !== undefined) {
    throw new Error(`${unknown} is no client: use ${languages.join(", ").toLowerCase()}`);
  }
  return languages.filter((name) => args.length === 0 || args.includes(name.toLowerCase()));
}
