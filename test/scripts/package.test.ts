import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ALSO_INSTALLED, BUNDLED } from "../../scripts/build/bundled.mjs";
import { addonPath, root as checkout, platform } from "../../scripts/build/paths.mjs";
import { uwsFiles } from "../../scripts/packages/uws.mjs";
import { Client } from "../harness/client.js";
import { type RunningProcess, startProcess } from "../harness/process.js";
import { removeDir, tempDir } from "../harness/temp.js";

/** The state of a release: a fresh checkout with npm packages and without compiled files. */
const SOURCES = [
  "src",
  "scripts",
  "native/index.js",
  "native/index.d.ts",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "LICENSE",
  "README.md",
  "CHANGELOG.md",
];

describe("the published npm package", () => {
  const directory = tempDir("package");
  const installed = join(directory, "app", "node_modules", "joust");
  let server: RunningProcess | undefined;
  let client: Client;

  beforeAll(async () => {
    const fresh = join(directory, "checkout");
    for (const name of SOURCES)
      cpSync(join(checkout, name), join(fresh, name), { recursive: true });
    symlinkSync(join(checkout, "node_modules"), join(fresh, "node_modules"));
    execFileSync("npm", ["pack", "--pack-destination", directory], { cwd: fresh, stdio: "pipe" });
    const archive = readdirSync(directory).find((name) => name.endsWith(".tgz")) as string;
    mkdirSync(installed, { recursive: true });
    execFileSync("tar", [
      "-xzf",
      join(directory, archive),
      "-C",
      installed,
      "--strip-components=1",
    ]);
    install();

    const root = join(directory, "root");
    const main = join(installed, "dist", "cli", "main.js");
    const started = await startProcess(
      process.execPath,
      {
        args: [main, "serve", root, "--port", "0"],
        env: { PATH: process.env.PATH, JOUST_API_KEY: "key" },
        cwd: directory,
      },
      (output) => /joust listening on (http:\/\/\S+)/.exec(output)?.[1],
    );
    server = started.process;
    client = new Client(started.ready, "key");
  }, 180_000);
  afterAll(async () => {
    await server?.stop();
    removeDir(directory);
  });

  /** The dependencies of the package and nothing else. */
  function install(): void {
    const modules = dirname(installed);
    const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
    const names = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies });
    for (const name of names) {
      const from = join(checkout, "node_modules", name);
      if (!existsSync(from)) continue;
      mkdirSync(dirname(join(modules, name)), { recursive: true });
      symlinkSync(from, join(modules, name));
    }
    // Like scripts/packages/platform.mjs.
    const addon = join(modules, `joust-${platform}`);
    mkdirSync(addon);
    symlinkSync(addonPath, join(addon, basename(addonPath)));
    for (const { from, to } of uwsFiles(platform)) {
      mkdirSync(dirname(join(addon, to)), { recursive: true });
      symlinkSync(from, join(addon, to));
    }
    const contents = {
      name: `joust-${platform}`,
      version: manifest.version,
      main: basename(addonPath),
    };
    writeFileSync(join(addon, "package.json"), JSON.stringify(contents));
  }

  it("serves /docs with all of its files", async () => {
    const anybody = client.withKey("");
    const page = await anybody.get("/docs");
    expect([page.status, page.headers.get("content-type")]).toEqual([
      200,
      "text/html; charset=utf-8",
    ]);
    const parts = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(
      ([, link]) => link as string,
    );
    const files = parts.filter((link) => link !== "data:,");
    expect(files).toHaveLength(4);
    for (const file of files) {
      const answer = await anybody.get(`/${file}`);
      expect([file, answer.status, answer.bytes.length > 100]).toEqual([file, 200, true]);
    }
  });

  it("serves tables and its OpenAPI document", async () => {
    await client.createNamespace("ns");
    expect((await client.get("/v1/namespace/$/list")).json.namespaces).toEqual(["ns"]);
    expect((await client.get("/openapi.json")).status).toBe(200);
  });

  it("uses the same build of uWebSockets.js as the checkout, from the platform package", () => {
    const version = (cli: string) =>
      execFileSync(process.execPath, [cli, "--version"], { encoding: "utf8", cwd: directory });
    const own = version(join(installed, "dist", "cli", "main.js"));
    expect(own).toBe(version(join(checkout, "dist", "cli", "main.js")));
    expect(existsSync(join(dirname(installed), "uws-20-57"))).toBe(false);
  });

  it("declares the types of joust/engine", () => {
    const app = join(directory, "app");
    writeFileSync(
      join(app, "use.mts"),
      'import { Engine, type Table } from "joust/engine";\n' +
        'export const table: Table = new Engine().table("t.lance");\n' +
        "// @ts-expect-error\nnew Engine().noSuchMethod();\n",
    );
    const typescript = join(checkout, "node_modules", "typescript", "bin", "tsc");
    const types = ["--types", "node", "--typeRoots", join(checkout, "node_modules", "@types")];
    const options = ["--noEmit", "--strict", "--module", "nodenext", ...types];
    execFileSync(process.execPath, [typescript, ...options, "use.mts"], {
      cwd: app,
      stdio: ["ignore", "inherit", "inherit"],
    });
  });

  it("contains the licences of the packages that it contains instead of installing them", () => {
    const { dependencies } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
    const text = readFileSync(join(installed, "dist", "THIRD-PARTY-LICENSES"), "utf8");
    for (const name of [...BUNDLED, "rolldown"]) {
      expect(Object.hasOwn(dependencies, name)).toBe(ALSO_INSTALLED.includes(name));
      expect(text).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+: [A-Z]`, "m"));
      // The heading of its licence.
      expect(text).toMatch(new RegExp(`^={80}\\n(.*, )?${name} [\\d.]+(, .*)?\\n={80}$`, "m"));
    }
  });

  it("contains no sources, tests or source maps", () => {
    expect(readdirSync(installed).sort()).toEqual([
      "CHANGELOG.md",
      "LICENSE",
      "README.md",
      "dist",
      "native",
      "package.json",
    ]);
    const files = readdirSync(installed, { recursive: true, encoding: "utf8" });
    expect(files.filter((name) => /\.map$|\.stamp$|\.node$/.test(name))).toEqual([]);
  });
});
