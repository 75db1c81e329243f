import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root as checkout } from "../../scripts/build/paths.mjs";

/**
 * Writes a report as JSON and as an HTML page.
 *
 * @param {{ when: string, out: string | undefined, kind: string, report: unknown, html: string }} contents
 * @returns {string[]} the paths of the files
 */
export function writeReport({ when, out, kind, report, html }) {
  const folder = out ?? join(checkout, "bench", "results");
  mkdirSync(folder, { recursive: true });
  const stem = `${when.slice(0, 19).replace("T", "-").replaceAll(":", "")}-${kind}`;
  const files = {
    [`${stem}.json`]: `${JSON.stringify(report, null, 2)}\n`,
    [`${stem}.html`]: html,
  };
  return Object.entries(files).map(([name, content]) => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  });
}
