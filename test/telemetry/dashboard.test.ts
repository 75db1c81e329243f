import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { startServerForTest } from "../harness/setup-server.js";
import { tempDir } from "../harness/temp.js";

const folder = join(import.meta.dirname, "../../packaging/grafana");
const dashboard = JSON.parse(readFileSync(join(folder, "dashboard.json"), "utf8"));
const alerts = parse(readFileSync(join(folder, "alerts.yaml"), "utf8"));

type Target = { expr: string };
type Rule = { alert: string; expr: string; annotations: { summary: string; description: string } };

const rules: Rule[] = alerts.groups.flatMap((group: { rules: Rule[] }) => group.rules);
const targets: Target[] = dashboard.panels.flatMap((panel: { targets: Target[] }) => panel.targets);

const metricsIn = (expression: string): string[] => expression.match(/\bjoust_[a-z_]+/g) ?? [];

/** Metrics that appear only after an event: a round of maintenance, a refusal. */
const eventual = ["joust_maintenance_last_round_timestamp_seconds"];

it("uses only metrics that a server with all options serves", async () => {
  const dir = tempDir();
  const limits = join(dir, "limits.yaml");
  writeFileSync(limits, "defaults: { caller: { requests_per_second: 1000 } }\n");
  const args = ["--limits", limits, "--audit-log", join(dir, "audit.log")];
  const { client } = await startServerForTest({ args });
  const { text } = await client.get("/metrics");
  const served = [...text.matchAll(/^# TYPE (joust_[a-z_]+) /gm)].map(([, name]) => name as string);
  const used = [...targets, ...rules].flatMap(({ expr }) => metricsIn(expr));
  expect(used.length).toBeGreaterThan(15);
  expect([...new Set(used)].filter((name) => ![...served, ...eventual].includes(name))).toEqual([]);
  // Each metric is on the dashboard, so that a new one is not forgotten.
  const shown = targets.flatMap(({ expr }) => metricsIn(expr));
  expect(served.filter((name) => !shown.includes(name))).toEqual(["joust_maintenance_on"]);
});

it("says in each alert what is wrong and what to do", () => {
  expect(rules.length).toBeGreaterThan(0);
  for (const { alert, annotations } of rules) {
    expect([alert, annotations.summary, annotations.description]).toEqual([
      expect.stringMatching(/^Joust[A-Za-z]+$/),
      expect.stringMatching(/\w/),
      expect.stringMatching(/\w.*\.$/),
    ]);
  }
});

it("gives each panel an id, a place and a description", () => {
  const { panels } = dashboard;
  expect(new Set(panels.map(({ id }: { id: number }) => id)).size).toBe(panels.length);
  for (const { title, description, gridPos } of panels) {
    expect([title, description, gridPos]).toEqual([
      expect.stringMatching(/\w/),
      expect.stringMatching(/\.$/),
      { x: expect.any(Number), y: expect.any(Number), w: 12, h: 8 },
    ]);
  }
});
