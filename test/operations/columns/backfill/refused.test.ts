import { beforeAll, describe, it } from "vitest";
import { items, stream, type } from "../../../harness/arrow.js";
import { expectFailure } from "../../../harness/expect-failure.js";
import { setupServer } from "../../../harness/setup-server.js";
import { backfillClient } from "./backfill-client.js";

const joust = setupServer();
const { compute, start } = backfillClient(joust);

describe("a backfill request", () => {
  beforeAll(async () => {
    await joust.client.createTable("t", items(10));
    await compute("t", "c", "id");
  });

  it.each<[string, object, number, number, RegExp]>([
    ["without a column", {}, 400, 13, /column/],
    ["for an empty column", { column: "" }, 400, 13, /column/],
    ["with a column that is not a string", { column: 7 }, 400, 13, /column/],
    ["for an unknown column", { column: "nope" }, 404, 12, /nope/],
    [
      "for a column that is not computed",
      { column: "price" },
      400,
      13,
      /`price` is not a computed column/,
    ],
    ["for a nested field", { column: "vector.item" }, 404, 12, /vector\.item/],
    ["with a broken condition", { column: "c", where: "id <" }, 400, 13, /./],
    ["with a blank condition", { column: "c", where: " " }, 400, 13, /empty/],
    ["with a condition on an unknown column", { column: "c", where: "nope = 1" }, 404, 12, /nope/],
    ["with a condition that is not a string", { column: "c", where: 1 }, 400, 13, /where/],
    ["for an unknown version", { column: "c", read_version: 99 }, 404, 11, /99/],
    ["for a negative version", { column: "c", read_version: -1 }, 400, 13, /read_version/],
    ["for a huge version", { column: "c", read_version: 2 ** 60 }, 404, 11, /version/],
    ["for a fractional version", { column: "c", read_version: 1.5 }, 400, 13, /read_version/],
    ["without fragments", { column: "c", num_frags: 0 }, 400, 13, /num_frags/],
    ["without concurrency", { column: "c", concurrency: 0 }, 400, 13, /concurrency/],
    ["with concurrency as a string", { column: "c", concurrency: "2" }, 400, 13, /concurrency/],
    ["with a tuning key of a wrong type", { column: "c", task_size: "x" }, 400, 13, /task_size/],
    ["on an unknown branch", { column: "c", branch: "nope" }, 404, 22, /nope/],
  ])("fails %s", async (_, body, status, code, detail) => {
    expectFailure(await start("t", body), status, code, detail);
  });

  it("fails for a missing table, column or branch", async () => {
    expectFailure(await start("missing", { column: "c" }), 404, 4);
    expectFailure(await start("no$t", { column: "c" }), 404, 1);
    expectFailure(await start("$", { column: "c" }), 400, 13);
  });

  it("fails without the write permission", async () => {
    const answer = await joust.client
      .withKey("wrong")
      .post("/v1/table/t/backfill_column", { column: "c" });
    expectFailure(answer, 401, 16);
  });
});

it("a backfill of a column that can no longer be computed reports the cause", async () => {
  await joust.client.createTable("gone", stream({ id: [type.i64, [1n]], x: [type.i64, [2n]] }));
  await compute("gone", "c", "x + 1");
  await joust.client.ok("/v1/table/gone/drop_columns", { columns: ["x"] });
  expectFailure(await start("gone", { column: "c" }), 404, 12, /x/);
});
