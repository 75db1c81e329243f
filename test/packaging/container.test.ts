import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import getPort from "get-port";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stream, type } from "../harness/arrow.js";
import { ARROW_STREAM, Client } from "../harness/client.js";
import { removeDir, tempDir } from "../harness/temp.js";
import { waitForOutput } from "../harness/wait-for-output.js";
import { type Container, startContainer, userOf } from "./container.js";
import { buildImage, type Image } from "./image.js";

const USER = 65532;

const rows = (names: readonly string[]): Uint8Array =>
  stream({
    name: [type.text, names],
    vector: [type.vector(2), names.map((_, at) => [at, 1])],
  });

describe("the container image", () => {
  const directory = tempDir("container");
  const data = join(directory, "data");
  let image: Image;
  let container: Container;
  let client: Client;

  beforeAll(async () => {
    image = buildImage(directory);
    console.log(`the image has ${image.size}`);
    // A volume that the operator created for the user of the image.
    mkdirSync(data);
    chownSync(data, USER, USER);
    container = await startContainer(image, data, await getPort({ host: "127.0.0.1" }));
    const key = readFileSync(join(data, ".joust", "admin-key"), "utf8").trim();
    client = new Client(container.url, key);
  });

  afterAll(async () => {
    await container?.process.stop();
    image?.remove();
    removeDir(directory);
  });

  it("declares its user, volume, signal, health check and command", () => {
    expect(image.config).toMatchObject({
      User: "65532:65532",
      WorkingDir: "/data",
      StopSignal: "SIGTERM",
      Entrypoint: ["joust"],
      Cmd: ["serve"],
      Healthcheck: { Test: ["CMD", "node", "/app/health.mjs"] },
    });
    expect(image.config.Volumes).toHaveProperty("/data");
    expect(image.config.Env).toEqual(
      expect.arrayContaining(["JOUST_ROOT=/data", "JOUST_HOST=0.0.0.0"]),
    );
  });

  it("contains no build or install tools, and only the binaries of one platform", () => {
    const has = (path: string): boolean => existsSync(join(image.files, path));
    const tools = ["npm", "npx", "yarn", "gcc", "cc", "make", "python3", "cargo", "git"];
    const folders = ["usr/local/bin", "usr/bin"];
    expect(tools.filter((tool) => folders.some((folder) => has(join(folder, tool))))).toEqual([]);
    expect(has("root/.npmrc")).toBe(false);
    const binaries = readdirSync(join(image.files, "app", "node_modules"), { recursive: true })
      .map(String)
      .filter((name) => name.endsWith(".node"));
    const platform = new RegExp(`linux[-_]${process.arch}|@libsql/linux-${process.arch}-gnu`);
    expect(binaries.filter((name) => !platform.test(name))).toEqual([]);
    // The engine, libsql and uWebSockets.js.
    expect(binaries).toHaveLength(3);
  });

  it("contains the licences of the crates and of uWebSockets.js", () => {
    const folder = join(image.files, "app", "node_modules", `joust-linux-${process.arch}-gnu`);
    expect(readFileSync(join(folder, "THIRD-PARTY-LICENSES"), "utf8")).toMatch(/^lance \d/m);
    expect(readdirSync(join(folder, "uws"))).toEqual(expect.arrayContaining(["LICENSE", "NOTICE"]));
  });

  it("serves with uWebSockets.js as an unprivileged user on read-only files", async () => {
    expect(userOf(container.process.pid)).toEqual({ uid: USER, gid: USER });
    await waitForOutput(container.process, /uWebSockets\.js 20\.57/);
    const created = await client.request("/v1/table/names/create", { body: rows(["a", "b", "c"]) });
    expect(created.status).toBe(200);
    const response = await client.request("/v1/table/names/query", {
      body: { vector: { single_vector: [2, 1] }, k: 1, columns: { column_names: ["name"] } },
    });
    expect(response.status).toBe(200);
    expect(statSync(join(data, ".joust")).uid).toBe(USER);
  });

  it("passes its health check while it serves", () => {
    expect(container.health()).toBe(0);
  });

  it("completes requests in flight after SIGTERM and exits with 0", async () => {
    const body = rows(["d"]);
    const insert = request(`${container.url}/v1/table/names/insert`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${client.key}`,
        "content-type": ARROW_STREAM,
        "content-length": body.length,
      },
    });
    const answered = new Promise<number | undefined>((resolve, reject) => {
      insert.once("response", (response) => resolve(response.resume().statusCode));
      insert.once("error", reject);
    });
    insert.write(body.subarray(0, 100));
    await new Promise((resolve) => setTimeout(resolve, 300));
    const ended = container.process.stop("SIGTERM", 40_000);
    await new Promise((resolve) => setTimeout(resolve, 500));
    insert.end(body.subarray(100));
    expect(await answered).toBe(200);
    expect(await ended).toBe(0);
  });

  it("fails its health check after a stop", () => {
    expect(container.health()).toBe(1);
  });

  it("has its tables again after a restart", async () => {
    container = await startContainer(image, data, await getPort({ host: "127.0.0.1" }));
    client = new Client(container.url, client.key);
    const counted = await client.request("/v1/table/names/count_rows", { body: {} });
    expect(counted.json).toBe(4);
  });
});
