import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkout } from "./code-blocks.js";

interface Step {
  readonly number: number;
  readonly file: string;
}

/** The steps from the socket to the handler, which the other routes share with that of a query. */
const SHARED = 3;
const query = stepsOf("a vector query");

describe("the routes in ARCHITECTURE.md", () => {
  it.each([
    { name: "a vector query", steps: query, most: 15 },
    { name: "an insert", steps: [...query.slice(0, SHARED), ...stepsOf("an insert")], most: 18 },
    {
      name: "an index build",
      steps: [...query.slice(0, SHARED), ...stepsOf("an index build")],
      most: 15,
    },
  ])("of $name has at most $most files, and none twice", ({ steps, most }) => {
    expect(steps.map(({ number }) => number)).toEqual(steps.map((_, index) => index + 1));
    expect(steps.length).toBeLessThanOrEqual(most);
    expect(new Set(steps.map(({ file }) => file)).size).toBe(steps.length);
  });
});

/** The numbered steps of a route. Each begins with the path of its file and names no other one. */
function stepsOf(route: string): Step[] {
  const text = readFileSync(join(checkout, "ARCHITECTURE.md"), "utf8");
  const [, section] = text.split(`## The route of ${route}\n`);
  const list =
    section
      ?.split(/^## /m)[0]
      ?.split(/^(?=\d+\. )/m)
      .slice(1) ?? [];
  if (list.length === 0) throw new Error(`ARCHITECTURE.md has no route of ${route}`);
  return list.map((step) => {
    const files = [...step.matchAll(/`([^`\s]+\.(?:ts|rs))`/g)].map(([, file]) => file as string);
    const number = Number.parseInt(step, 10);
    const [file] = files;
    if (file === undefined || files.length !== 1 || !step.startsWith(`${number}. \`${file}\` `)) {
      throw new Error(
        `step ${number} of ${route} names ${files.length} files, not one at its start`,
      );
    }
    return { number, file };
  });
}
