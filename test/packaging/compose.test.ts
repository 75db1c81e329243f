import { setTimeout as sleep } from "node:timers/promises";
import getPort from "get-port";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.js";
import { items } from "../harness/arrow.js";
import { Client } from "../harness/client.js";
import { type Postgres, startPostgres } from "../harness/postgres.js";
import type { RunningProcess } from "../harness/process.js";
import { type S3, startS3 } from "../harness/s3.js";
import { removeDir, tempDir } from "../harness/temp.js";
import { waitFor } from "../harness/wait-for.js";
import { parseCompose, readCompose, type Service } from "./compose.js";
import { type LoadBalancer, serve, startProxy } from "./proxy.js";

const variables = {
  POSTGRES_PASSWORD: "secret",
  S3_SECRET_KEY: "s3-secret",
  JOUST_ADMIN_KEY: "admin",
};
const SERVERS = ["joust-one", "joust-two"] as const;

/** The settings of each joust server in both files. */
function expectHardened(service: Service | undefined): void {
  expect(service).toMatchObject({
    read_only: true,
    cap_drop: ["ALL"],
    security_opt: ["no-new-privileges:true"],
  });
  expect(parseInt(String(service?.stop_grace_period), 10)).toBeGreaterThan(30);
}

describe("the compose file of one server", () => {
  it("is valid, stores /data on a volume, and listens on loopback", () => {
    const { joust } = parseCompose(readCompose("compose.yaml"));
    expectHardened(joust);
    expect(joust?.volumes).toContainEqual(
      expect.objectContaining({ type: "volume", source: "data", target: "/data" }),
    );
    expect(joust?.ports).toEqual([
      expect.objectContaining({ host_ip: "127.0.0.1", published: "2333", target: 2333 }),
    ]);
  });

  it("is invalid with a misspelled key", () => {
    const text = readCompose("compose.yaml").replace("read_only:", "readonly:");
    expect(() => parseCompose(text)).toThrow(/readonly/);
  });
});

describe("the compose file of two servers", () => {
  it("is valid, and joust accepts its arguments and environment", () => {
    const services = parseCompose(readCompose("compose.cluster.yaml", variables));
    for (const name of SERVERS) {
      const service = services[name];
      expectHardened(service);
      const { command = [], environment = {} } = service as Service;
      const config = loadConfig(command.slice(1), { env: environment, cwd: "/data" });
      expect(config).toMatchObject({
        root: "s3://tables",
        apiKey: "admin",
        catalog: "postgres://joust:secret@catalog/joust",
      });
      expect(Object.keys(service?.depends_on ?? {})).toEqual(["catalog", "objects"]);
    }
    const hosts = Object.keys(services);
    expect(hosts).toEqual(expect.arrayContaining(["catalog", "objects", "proxy"]));
  });

  it.each(Object.keys(variables))("asks for %s", (name) => {
    const { [name as keyof typeof variables]: _, ...others } = variables;
    expect(() => readCompose("compose.cluster.yaml", others)).toThrow(name);
  });
});

/** Uses the build of uWebSockets.js that loads on this host. */
describe.each(["node", "uws"])("HAProxy before two servers with --http %s", (transport) => {
  const directory = tempDir("proxy");
  const ports: Record<string, number> = {};
  const running: Record<string, RunningProcess> = {};
  const proxies: LoadBalancer[] = [];
  let postgres: Postgres;
  let s3: S3;
  let start: (name: string) => Promise<void>;

  beforeAll(async () => {
    [postgres, s3] = await Promise.all([startPostgres(), startS3()]);
    const services = parseCompose(readCompose("compose.cluster.yaml", variables));
    const catalog = postgres.createDatabase();
    const bucket = s3.createBucket();
    start = async (name) => {
      const { command = [], environment = {} } = services[name] as Service;
      const args = command.map((arg) => arg.replace("s3://tables", bucket));
      const env = { ...environment, ...s3.env, JOUST_CATALOG: catalog, JOUST_HTTP: transport };
      running[name] = await serve(args, ports[name] as number, env);
    };
    for (const name of SERVERS) {
      ports[name] = await getPort({ host: "127.0.0.1" });
      await start(name);
    }
  });

  afterAll(async () => {
    await Promise.all(proxies.map((proxy) => proxy.stop()));
    await Promise.all(Object.values(running).map((one) => one.stop()));
    await Promise.all([postgres?.stop(), s3?.stop()]);
    removeDir(directory);
  });

  it("balances requests between two ready servers, and removes a stopped server without a failed request", async () => {
    const proxy = await startProxy(directory, ports);
    proxies.push(proxy);
    const bothUp = () =>
      waitFor("both servers are up", async () => {
        const { one, two } = await proxy.status();
        return [one, two].every((each) => each?.status === "UP" && each.check === "L7OK/200");
      });
    await bothUp();
    const client = new Client(proxy.url, variables.JOUST_ADMIN_KEY);
    expect((await client.request("/v1/table/items/create", { body: items(100) })).status).toBe(200);

    const statuses: number[] = [];
    let asking = true;
    const load = Array.from({ length: 4 }, async () => {
      while (asking) {
        const { status } = await client.request("/v1/table/items/count_rows", { body: {} });
        statuses.push(status);
      }
    });
    await sleep(1_000);
    expect(await running["joust-one"]?.stop()).toBe(0);
    await waitFor("the stopped server is out", async () => {
      const { one } = await proxy.status();
      return one?.status === "DOWN";
    });
    const before = (await proxy.status()).two?.requests ?? 0;
    await sleep(500);
    expect((await proxy.status()).two?.requests).toBeGreaterThan(before);
    await start("joust-one");
    await bothUp();
    await sleep(500);
    asking = false;
    await Promise.all(load);
    expect(statuses.length).toBeGreaterThan(20);
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
    const { one, two } = await proxy.status();
    expect(one?.requests).toBeGreaterThan(10);
    expect(two?.requests).toBeGreaterThan(10);
  });

  it("sends a check with only a path in HTTP/1.0, which only the HTTP server of Node answers with 200", async () => {
    const plain = (config: string): string =>
      config
        .replace(/ {2}http-check send .*\n/, "")
        .replace("option httpchk\n", "option httpchk GET /readyz\n");
    const proxy = await startProxy(directory, ports, plain);
    proxies.push(proxy);
    const library = /"name":"([^"]+)"/.exec(running["joust-two"]?.output() ?? "")?.[1] as string;
    // docs/deploy.md contains this table.
    const expected = library.startsWith("Node")
      ? { status: "UP", check: "L7OK/200" }
      : { status: "DOWN", check: library.endsWith("20.30") ? "L7TOUT" : "L7STS/505" };
    await waitFor(`${library} gives ${expected.check}`, async () => {
      const { two } = await proxy.status();
      return two?.status === expected.status && two.check === expected.check;
    });
    await sleep(2_000);
    expect((await proxy.status()).two).toMatchObject({ status: expected.status });
  });
});
