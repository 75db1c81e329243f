/** A table whose files are missing or damaged, in a namespace with a limit of rows. */
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { items } from "../harness/arrow.js";
import { startServer } from "../harness/server.js";
import { startServerForTest } from "../harness/setup-server.js";
import { removeDir, tempDir } from "../harness/temp.js";
import { waitFor } from "../harness/wait-for.js";
import { expectRefusal } from "./limited-server.js";

const removeVersions = (location: string) =>
  rmSync(join(location, "_versions"), { recursive: true });

const damageVersions = (location: string) => {
  const versions = join(location, "_versions");
  for (const name of readdirSync(versions)) writeFileSync(join(versions, name), "damaged");
};

/** The lines of a log that name a table as unreadable. */
const warnings = (output: string, table: string) =>
  output
    .split("\n")
    .filter(
      (line) => line.includes("could not be measured") && line.includes(JSON.stringify(table)),
    );

describe("an unreadable table in a namespace with a limit of rows", () => {
  it("counts with its last size, and does not block the others", async () => {
    const dir = tempDir("unreadable");
    onTestFinished(() => removeDir(dir));
    const file = join(dir, "limits.yaml");
    writeFileSync(file, JSON.stringify({ namespaces: { ns: { rows: 100 } } }));
    const server = await startServerForTest({ args: ["--limits", file] });
    const { client } = server;
    await client.createNamespace("ns");
    await client.createTable("ns$a", items(60));
    await client.createTable("ns$b", items(60));
    const insert = (rows: number) => client.post("/v1/table/ns$b/insert", items(rows));
    expectRefusal(await insert(1), "rows", /it has 120 of 100 rows/);
    const { location } = await client.ok("/v1/table/ns$a/describe");
    // A damaged manifest would not do: the server has the newest version open.
    removeVersions(location.replace(/^file:\/\//, ""));
    // A refusal measures all tables again if the last measurement is older than a second.
    await waitFor("a measurement meets the damage", async () => {
      expectRefusal(await insert(1), "rows", /it has 120 of 100 rows/);
      return warnings(server.output(), "ns$a").length > 0;
    });
    await client.ok("/v1/table/ns$b/delete", { predicate: "id < 40" });
    await waitFor("the deletion counts", async () => (await insert(30)).status === 200);
    await waitFor("the namespace is full", async () => (await insert(1)).status === 429);
    expectRefusal(await insert(1), "rows", /it has 11\d of 100 rows/);
    expect(warnings(server.output(), "ns$a")).toHaveLength(1);
    expect(warnings(server.output(), "ns$b")).toHaveLength(0);
  });

  it.each([
    ["without versions", removeVersions],
    ["with damaged versions", damageVersions],
  ])("counts as empty if its size was never known: a table %s", async (_, damage) => {
    const root = tempDir("unreadable");
    onTestFinished(() => removeDir(root));
    const former = await startServer({ root });
    await former.client.createNamespace("ns");
    await former.client.createTable("ns$a", items(60));
    await former.client.createTable("ns$b", items(60));
    const { location } = await former.client.ok("/v1/table/ns$a/describe");
    await former.stop();
    damage(location.replace(/^file:\/\//, ""));
    const file = join(root, ".joust", "limits.yaml");
    writeFileSync(file, JSON.stringify({ namespaces: { ns: { rows: 100 } } }));
    const server = await startServerForTest({ root, args: ["--limits", file] });
    const insert = (rows: number) => server.client.post("/v1/table/ns$b/insert", items(rows));
    expect((await insert(20)).status).toBe(200);
    expect((await insert(20)).status).toBe(200);
    expectRefusal(await insert(1), "rows", /it has 100 of 100 rows/);
    expect(warnings(server.output(), "ns$a")).toHaveLength(1);
  });
});
