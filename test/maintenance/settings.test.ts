import { expect, test } from "vitest";
import { settingsOf } from "../../src/maintenance/settings.js";

const server = { on: true, keepVersionsMs: 7, autoRefreshMs: 60_000 };
const of = (properties: Record<string, string>) => settingsOf({ properties }, server);

test("a table has the server's settings unless its properties override them", () => {
  expect(of({})).toEqual(server);
  expect(of({ "joust.maintenance": "OFF" })).toEqual({ ...server, on: false });
  expect(of({ "joust.keep_versions": "36h" })).toEqual({
    ...server,
    keepVersionsMs: 129_600_000,
  });
});

test("an invalid property changes no setting", () => {
  expect(of({ "joust.keep_versions": "soon", "joust.maintenance": "yes" })).toEqual(server);
});
