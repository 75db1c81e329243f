import { javaClients } from "./clients/java.mjs";
import { nodeClients } from "./clients/node.mjs";
import { pythonClients } from "./clients/python.mjs";
import { reportCounts } from "./counts.mjs";

const suites = { Node: nodeClients, Python: pythonClients, Java: javaClients };

/** `npm run test:clients -- [LANGUAGE...]`: tests unmodified clients against the built server. */
export async function run(args) {
  const counts = {};
  for (const language of chosenLanguages(args)) {
    counts[`clients (${language})`] = await suites[language]();
  }
  return reportCounts(counts);
}

function chosenLanguages(args) {
  const languages = Object.keys(suites);
  const unknown = args.find((arg) => !languages.some((name) => name.toLowerCase() === arg));
  if (unknown !== undefined) {
    throw new Error(`unknown language ${unknown}: use ${languages.join(", ").toLowerCase()}`);
  }
  return languages.filter((name) => args.length === 0 || args.includes(name.toLowerCase()));
}
