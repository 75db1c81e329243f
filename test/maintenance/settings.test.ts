import { expect, test } from "vitest";
import { settingsOf } from "../../src/maintenance/settings.js";

const server = { on: true, keepVersionsMs: 7 };
const of = (properties: Record<string, string>) => settingsOf({ properties }, server);

test("a table has the server's settings unless its properties override them", () => {
  expect(of({})).toEqual(server);
  expect(of({ "joust.maintenance": "OFF" })).toEqual({ on: false, keepVersionsMs: 7 });
  expect(of({ "joust.keep_versions": "36h" })).toEqual({ on: true, keepVersionsMs: 129_600_000 });
});

test("an invalid property changes no setting", () => {
  expect(of({ "joust.keep_versions": "soon", "joust.maintenance": "yes" })).toEqual(server);
});
