import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../../harness/arrow.js";
import { expectFailure } from "../../../harness/expect-failure.js";
import { setupServer } from "../../../harness/setup-server.js";
import { sqlClient } from "./sql-client.js";

const joust = setupServer();
const { rows, send } = sqlClient(joust);

const count = async (at: string) =>
  (await rows(`SELECT count(*) AS n FROM t FOR ${at} AS a WHERE a.id >= 0`))[0].n;

/** The time of a version, as the listing has it. */
const timeOf = async (version: number): Promise<number> => {
  const { versions } = await joust.client.ok("/v1/table/t/version/list", {});
  const listed = versions.find((one: { version: number }) => one.version === version);
  return listed.timestamp_millis;
};

/** Inserts a row at a later millisecond than the newest version. */
async function insertLater(from: number): Promise<void> {
  const newest = await timeOf(from);
  while (Date.now() <= newest + 1) await new Promise((done) => setTimeout(done, 1));
  await joust.client.insert("t", items(1, { from }));
}

beforeAll(async () => {
  const { client } = joust;
  await client.createTable("t", items(1));
  await insertLater(1);
  await insertLater(2);
  await client.ok("/v1/table/t/branches/create", { name: "team/work", from_version: 1 });
  await client.insert("t", items(4, { from: 10 }), { branch: "team/work" });
  await client.ok("/v1/table/t/branches/create", { name: "both", from_version: 1 });
  await client.ok("/v1/table/t/tags/create", { tag: "both", version: 2 });
});

describe("the state of a table in a statement", () => {
  it("is that of a time", async () => {
    for (const version of [1, 2, 3]) {
      const time = new Date(await timeOf(version));
      expect(await count(`TIMESTAMP AS OF '${time.toISOString()}'`)).toBe(version);
      expect(await count(`timestamp as of '${time.toISOString().replace("T", " ")}'`)).toBe(
        version,
      );
    }
    expect(await count("TIMESTAMP AS OF '2200-01-01'")).toBe(3);
    const first = new Date((await timeOf(1)) - 1).toISOString();
    for (const [time, status, code, detail] of [
      [`'${first}'`, 404, 11, /no version from/],
      ["'yesterday'", 400, 13, /is no time/],
      ["7", 400, 13, /is no time/],
    ] as const) {
      const query = `SELECT * FROM t FOR TIMESTAMP AS OF ${time}`;
      expectFailure(await send({ query }), status, code, detail);
    }
  });

  it("is that of a branch, if there is no tag of its name", async () => {
    expect(await count("VERSION AS OF 'team/work'")).toBe(5);
    expect(await count("VERSION AS OF 'both'")).toBe(2);
    expect(await count("VERSION AS OF 'main'")).toBe(3);
    expectFailure(
      await send({ query: "SELECT * FROM t FOR VERSION AS OF 'team/none'" }),
      404,
      8,
      /team\/none/,
    );
  });

  it("is that of a table in a search, too", async () => {
    const nearest = async (name: string) =>
      (
        await rows(
          "SELECT count(*) AS n FROM vector_search($1, 'vector', [0, 0, 0, 0, 0, 0, 0, 0], 50)",
          { parameters: [name] },
        )
      )[0].n;
    expect(await nearest("t FOR VERSION AS OF 'team/work'")).toBe(5);
    const second = new Date(await timeOf(2)).toISOString();
    expect(await nearest(`t FOR TIMESTAMP AS OF '${second}'`)).toBe(2);
  });
});
