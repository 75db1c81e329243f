import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { loadFailure } from "../../src/engine/load-failure.js";
import { tempDir } from "../harness/temp.js";

const COMPILE =
  "compile joust from its sources with Rust 1.94 or newer (`npm run build` in a checkout)";
const published = ["linux-x64-gnu", "darwin-arm64"];

/** The error of napi's loader: its own message with the causes as a chain. */
function napiError(...messages: string[]): Error {
  const chain = messages.reduceRight<Error | undefined>(
    (cause, message) => new Error(message, cause && { cause }),
    undefined,
  );
  return new Error(
    "Cannot find native binding. npm has a bug related to optional dependencies (https://github.com/npm/cli/issues/4828).",
    { cause: chain },
  );
}

const missing = napiError(
  "Cannot find module './joust.linux-x64-musl.node'\nRequire stack:\n- /app/native/index.js",
  "Cannot find module 'joust-linux-x64-musl'\nRequire stack:\n- /app/native/index.js",
);

describe("an engine that does not load", () => {
  it("is reported with both remedies if no package exists for the host", () => {
    const platform = "linux-x64-musl";
    expect(loadFailure(missing, { platform, published })).toBe(
      `joust has no package for linux-x64-musl: use a host with one of linux-x64-gnu, darwin-arm64, or ${COMPILE}`,
    );
    const unsupported = napiError("Unsupported architecture on Linux: mips");
    expect(loadFailure(unsupported, { platform: "linux-mips-gnu", published })).toContain(
      "joust has no package for linux-mips-gnu: ",
    );
  });

  it("is reported as not installed if npm left out the package", () => {
    expect(loadFailure(missing, { platform: "linux-x64-gnu", published })).toMatch(
      /^the package joust-linux-x64-gnu with the engine is not installed: install joust again without `--omit=optional`/,
    );
  });

  it("is reported as not compiled in a checkout", () => {
    expect(loadFailure(missing, { platform: "linux-x64-gnu", published: [] })).toBe(
      "the engine is not compiled for linux-x64-gnu: run `npm run build`, which needs Rust 1.94 or newer",
    );
  });

  it("is reported with the newest glibc version that it requires", () => {
    const error = napiError(
      "Cannot find module './joust.linux-x64-gnu.node'",
      "/lib/libm.so.6: version `GLIBC_2.9' not found (required by /x/y.node)",
      "/lib/libm.so.6: version `GLIBC_2.28' not found (required by /x/y.node)",
    );
    const host = { platform: "linux-x64-gnu", glibc: "2.17", published };
    expect(loadFailure(error, host)).toBe(
      `the engine needs glibc 2.28 or newer and this host has 2.17: use a newer distribution, or ${COMPILE}`,
    );
  });

  it("is reported as built for another platform", () => {
    const error = napiError("/app/joust.linux-x64-gnu.node: wrong ELF class: ELFCLASS32");
    expect(loadFailure(error, { platform: "linux-x64-gnu", published })).toMatch(
      /^the installed engine is for another platform than linux-x64-gnu: remove node_modules/,
    );
  });

  it("is reported with the loader's message without paths for any other cause", () => {
    const error = napiError("/srv/app/x.node: cannot open shared object file: No such file");
    expect(loadFailure(error, { platform: "linux-x64-gnu", published })).toBe(
      `the engine for linux-x64-gnu does not load (x.node: cannot open shared object file: No such file): install joust again, or ${COMPILE}`,
    );
  });

  it("is not reported as a bug of npm by napi's loader", async () => {
    const file = join(tempDir("engine"), "engine.node");
    writeFileSync(file, "no library at all\n".repeat(300));
    const { href } = new URL("../../dist/engine/index.js", import.meta.url);
    const script = `await import(${JSON.stringify(href)}).catch(({ message }) => console.log(message))`;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--input-type=module", "--eval", script],
      { env: { PATH: process.env.PATH, NAPI_RS_NATIVE_LIBRARY_PATH: file } },
    );
    expect(stdout).toMatch(/^the installed engine is for another platform than \S+: [^\n]+\n$/);
  });
});
