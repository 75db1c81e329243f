import { beforeAll, expect, it } from "vitest";
import { runCli } from "../harness/cli.js";
import type { Client } from "../harness/client.js";
import type { Server } from "../harness/server.js";
import { describeOnSharedRoots } from "./shared-roots.js";

const key = /shown once\): (\S+)\nid: (\S+)\n/;

describeOnSharedRoots((root) => {
  let servers: [Server, Server];
  beforeAll(async () => {
    servers = [await root.serve(), await root.serve("--http-threads", "2")];
  }, 60_000);

  const joustKey = async (...args: string[]) => {
    const command = root.command();
    const { code, out, err } = await runCli(["key", ...args, ...command.args], {
      env: command.env,
    });
    expect([code, err]).toEqual([0, ""]);
    return out;
  };
  const statuses = (secret: string) => {
    const ask = async ({ client }: { client: Client }) =>
      (await client.withKey(secret).get("/v1/table")).status;
    // Several connections: each thread of a server answers some of them.
    return Promise.all(servers.flatMap((server) => Array.from({ length: 6 }, () => ask(server))));
  };
  /** A slow machine only asks later. */
  const everywhere = async (secret: string, status: number) => {
    await root.accessIsKnown();
    expect(new Set(await statuses(secret))).toEqual(new Set([status]));
  };

  it("every server applies the creation, the rotation and the revocation of a key", async () => {
    const [, first = "", id = ""] =
      key.exec(await joustKey("create", "--role", "read", "--name", "ci")) ?? [];
    await everywhere(first, 200);
    const [, second = ""] = key.exec(await joustKey("rotate", id, "--overlap", "1h")) ?? [];
    await everywhere(second, 200);
    await everywhere(first, 200);
    const [, third = ""] = key.exec(await joustKey("rotate", id, "--overlap", "0")) ?? [];
    await everywhere(first, 401);
    await everywhere(second, 401);
    await everywhere(third, 200);
    await joustKey("revoke", id);
    await everywhere(third, 401);
  });

  it("an expired key is refused by every server", async () => {
    const made = await joustKey("create", "--role", "read", "--name", "short", "--expires", "1ms");
    const [, secret = ""] = key.exec(made) ?? [];
    await everywhere(secret, 401);
    const { json } = await servers[0].client.withKey(secret).get("/v1/table");
    expect(json.detail).toMatch(/^the API key expired at /);
  });

  it("the last use of a key is listed after the servers stop", async () => {
    const made = await joustKey("create", "--role", "read", "--name", "used");
    const [, secret = "", id] = key.exec(made) ?? [];
    await joustKey("create", "--role", "read", "--name", "unused");
    await everywhere(secret, 200);
    await Promise.all(servers.map((server) => server.stop()));
    const lines = (await joustKey("list")).split("\n");
    const used = lines.find((line) => line.startsWith(id as string));
    expect(used).toMatch(/ used \d{4}-\S+Z {2}used$/);
    expect(lines.find((line) => line.endsWith(" unused"))).toMatch(/ used never +unused$/);
  });
});
