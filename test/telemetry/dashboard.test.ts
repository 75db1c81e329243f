import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { sqlPort } from "../flight/sql-port.js";
import { items } from "../harness/arrow.js";
import { FlightClient } from "../harness/flight-client.js";
import { IdentityProvider } from "../harness/identity-provider.js";
import { startServerForTest } from "../harness/setup-server.js";
import { tempDir } from "../harness/temp.js";
import { waitFor } from "../harness/wait-for.js";

const folder = join(import.meta.dirname, "../../packaging/grafana");
const dashboard = JSON.parse(readFileSync(join(folder, "dashboard.json"), "utf8"));
const alerts = parse(readFileSync(join(folder, "alerts.yaml"), "utf8"));

type Target = { expr: string };
type Rule = { alert: string; expr: string; annotations: { summary: string; description: string } };

const rules: Rule[] = alerts.groups.flatMap((group: { rules: Rule[] }) => group.rules);
const targets: Target[] = dashboard.panels.flatMap((panel: { targets: Target[] }) => panel.targets);

/** The histograms by the name of their metric, not of its series. */
const metricsIn = (expression: string): string[] =>
  (expression.match(/\bjoust_[a-z_]+/g) ?? []).map((name) => name.replace(/_bucket$/, ""));

/** `metric label`, for each label that an expression selects, apart from those that Prometheus adds. */
const labelsIn = (expression: string): string[] =>
  [...expression.matchAll(/\b(joust_[a-z_]+)\{([^}]*)\}/g)].flatMap(([, name, selector]) =>
    [...(selector as string).matchAll(/([a-z_]+)[=!]/g)]
      .map(([, label]) => label as string)
      .filter((label) => label !== "job")
      .map((label) => `${name} ${label}`),
  );

/** Metrics that appear only after an event: a round of maintenance, a refusal. */
const eventual = ["joust_maintenance_last_round_timestamp_seconds"];

it("uses only metrics that a server with all options serves", async () => {
  const dir = tempDir();
  const limits = join(dir, "limits.yaml");
  writeFileSync(limits, "defaults: { caller: { requests_per_second: 1000 } }\n");
  const audit = ["--audit-log", join(dir, "audit.log"), "--audit-log-table", "on"];
  const provider = await IdentityProvider.start();
  onTestFinished(() => provider.stop());
  const oidc = ["--oidc-issuer", provider.issuer, "--oidc-audience", "joust"];
  const args = ["--limits", limits, ...audit, ...oidc];
  const server = await startServerForTest({ args });
  const { client } = server;
  await client.createTable("t", items(3));
  await client.ok("/v1/table/t/create_index", { column: "id", index_type: "BTREE" });
  await waitFor("the job", async () => (await client.get("/metrics")).text.includes("joust_jobs{"));
  const flight = new FlightClient(`http://127.0.0.1:${sqlPort(server)}`, server.key);
  await flight.sql("SELECT * FROM t");
  flight.close();
  const { text } = await waitFor("the end of the call", async () => {
    const answer = await client.get("/metrics");
    return answer.text.includes("joust_flight_requests_total{") && answer;
  });
  const served = [...text.matchAll(/^# TYPE (joust_[a-z_]+) /gm)].map(([, name]) => name as string);
  const used = [...targets, ...rules].flatMap(({ expr }) => metricsIn(expr));
  expect(used.length).toBeGreaterThan(15);
  expect([...new Set(used)].filter((name) => ![...served, ...eventual].includes(name))).toEqual([]);
  const labels = [...text.matchAll(/^(joust_[a-z_]+)\{(.*)\} /gm)].flatMap(([, name, set]) =>
    [...(set as string).matchAll(/([a-z_]+)="/g)].map(([, label]) => `${name} ${label}`),
  );
  const selected = [...targets, ...rules].flatMap(({ expr }) => labelsIn(expr));
  expect(selected.length).toBeGreaterThan(5);
  expect(selected.filter((label) => !labels.includes(label))).toEqual([]);
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
