import { parseArguments, usage } from "../../bench/arguments.mjs";
import { contenders } from "../../bench/contenders/all.mjs";
import { compareCaches } from "../../bench/micro/caches.mjs";
import { htmlReport } from "../../bench/report/html.mjs";
import { seriesHtml, seriesText } from "../../bench/report/series.mjs";
import { textReport } from "../../bench/report/text.mjs";
import { writeReport } from "../../bench/report/write.mjs";
import { runBench } from "../../bench/run.mjs";
import { scenarios } from "../../bench/scenarios.mjs";
import { runSeries } from "../../bench/series.mjs";

/** `npm run bench -- [SCENARIO...] [OPTION...]`: see bench/README.md. */
export async function run(args) {
  const options = parseArguments(args);
  // The listeners of `exit` stop the started servers.
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));
  if (options.help) return show(usage);
  if (options.list) return show(listing());
  if (options.micro) return show(await micro(options));
  if (options.caches) return show(await compareCaches());
  return options.scale || options.cores ? series(options) : compare(options);
}

/** Imported on demand, because it loads the engine into this process. */
async function micro(options) {
  const { runMicro } = await import("../../bench/micro/run.mjs");
  return runMicro(options);
}

async function compare(options) {
  const report = await runBench(options, console.error);
  console.log(textReport(report));
  write({ kind: options.quick ? "quick" : "bench", report, html: htmlReport(report) }, options);
  return report.results.some(({ failures }) => failures > 0) ? 1 : 0;
}

async function series(options) {
  const report = await runSeries(options, console.error);
  console.log(seriesText(report));
  write({ kind: report.grows, report, html: seriesHtml(report) }, options);
}

function write(result, { out }) {
  for (const path of writeReport({ when: result.report.when, out, ...result })) console.log(path);
}

function listing() {
  const lines = (things) => things.map(({ key, title }) => `  ${key.padEnd(22)}${title}`);
  return ["scenarios", ...lines(scenarios), "contenders", ...lines(contenders)].join("\n");
}

function show(text) {
  console.log(text);
}
