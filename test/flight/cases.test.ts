/** Runs `cases/*.slt` over Flight SQL. `sql-cases.ts` describes their format. */
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FlightClient, FlightError } from "../harness/flight-client.js";
import { setupServer } from "../harness/setup-server.js";
import { resultText, typeLetter } from "./result-text.js";
import { type QueryCase, type StatementCase, sortedLines, sqlCases } from "./sql-cases.js";
import { sqlPort } from "./sql-port.js";

const CASES = join(import.meta.dirname, "cases");
const files = readdirSync(CASES).filter((name) => name.endsWith(".slt"));

const joust = setupServer();
let flight: FlightClient;

beforeAll(() => {
  flight = new FlightClient(`http://127.0.0.1:${sqlPort(joust.server)}`, joust.server.key);
});

afterAll(() => flight.close());

it("there are at least 120 records", () => {
  const counts = files.map((name) => sqlCases(readFileSync(join(CASES, name), "utf8")).length);
  expect(counts.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(120);
});

/** The tables of a file are in a namespace of its own. */
describe.each(files)("%s", (file) => {
  const namespace = basename(file, ".slt");
  const headers = { "namespace-path": namespace };

  beforeAll(() => joust.client.createNamespace(namespace));

  const runStatement = async ({ sql, error, count }: StatementCase) => {
    const outcome = await flight.sql(sql, { headers }).catch((caught) => caught);
    if (error !== undefined) {
      expect(outcome, "the statement succeeded").toBeInstanceOf(FlightError);
      expect(outcome.message).toMatch(error);
      return;
    }
    if (outcome instanceof Error) throw outcome;
    if (count !== undefined) expect(resultText(outcome)).toEqual([[String(count)]]);
  };

  const runQuery = async ({ sql, types, sort, lines }: QueryCase) => {
    const table = await flight.sql(sql, { headers });
    expect(sortedLines(resultText(table), sort)).toEqual(lines);
    expect(table.schema.fields.map(({ type }) => typeLetter(type)).join("")).toBe(types);
  };

  for (const record of sqlCases(readFileSync(join(CASES, file), "utf8"))) {
    const title = record.sql.replaceAll(/\s+/g, " ").slice(0, 100);
    it(`line ${record.line}: ${title}`, () =>
      record.kind === "query" ? runQuery(record) : runStatement(record));
  }
});
