import { beforeAll, expect, it } from "vitest";
import { items } from "../harness/arrow.js";
import { expectFailure } from "../harness/expect-failure.js";
import type { Server } from "../harness/server.js";
import { describeOnSharedRoots } from "./shared-roots.js";

describeOnSharedRoots((root) => {
  let servers: [Server, Server];
  beforeAll(async () => {
    servers = [await root.serve(), await root.serve("--http-threads", "2")];
  }, 60_000);

  it("the other server selects a created database and refuses a dropped one at once", async () => {
    const [one, two] = servers.map(({ client }) => client) as [Server["client"], Server["client"]];
    await one.createTable("t", items(1));
    for (let n = 0; n < 5; n++) {
      const [here, there] = [one.inDatabase(`d${n}`), two.inDatabase(`d${n}`)];
      // The name selects the root on both servers, and each thread of them may remember that.
      expect(await Promise.all([here, ...Array(6).fill(there)].map((d) => d.count("t")))).toEqual(
        Array(7).fill(1),
      );
      await one.createNamespace(`d${n}`);
      const lists = Array.from({ length: 6 }, async () => (await there.get("/v1/table/")).json);
      expect(await Promise.all(lists)).toEqual(Array(6).fill({ tables: [] }));
      await there.createTable("t", items(2));
      expect(await here.count("t")).toBe(2);
      await one.ok(`/v1/namespace/d${n}/drop`, { behavior: "Cascade" });
      expectFailure(await there.post("/v1/table/t/count_rows"), 404, 1);
    }
    expect(await two.count("t")).toBe(1);
  });
});
