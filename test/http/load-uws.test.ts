import { describe, expect, it } from "vitest";
import { transportOf } from "../../src/http/transport/open.js";
import { allBuilds, automaticBuilds, loadUws } from "../../src/http/transport/uws/load.js";

const failing = (name: string, message: string) => ({
  name,
  load: () => {
    throw new Error(message);
  },
});

describe("uWebSockets.js", () => {
  it("is a compiled build, never an imitation in JavaScript", () => {
    expect(String(loadUws(allBuilds).uws.App)).toContain("[native code]");
  });

  it("is the first build of a list that loads", () => {
    const build = { App: () => {} };
    const older = { name: "older", load: () => build };
    expect(loadUws([failing("newer", "version `GLIBC_2.38' not found"), older]).uws).toBe(build);
    const newest = { App: () => {} };
    expect(loadUws([{ name: "newest", load: () => newest }, older]).uws).toBe(newest);
  });

  it("20.30, which leaves requests without an answer, is chosen by --http uws only", () => {
    expect(allBuilds.map(({ name }) => name)).toContain("uWebSockets.js 20.30");
    expect(automaticBuilds.map(({ name }) => name)).toEqual(["uWebSockets.js 20.57"]);
    expect(transportOf("auto").name).toMatch(/^(uWebSockets\.js 20\.57|Node [\d.]+)$/);
  });

  it("that loads nowhere is told in one sentence", () => {
    const builds = [
      failing("A", "/lib/x86_64/libc.so.6: version `GLIBC_2.38' not found (required by /x/y.node)"),
      failing(
        "B",
        "Cannot find module 'uws-20-30/binaries/uws_linux_x64_115.node'\nRequire stack:\n- /a/b.js",
      ),
    ];
    expect(() => loadUws(builds)).toThrow(
      /^no build of uWebSockets\.js loads on \S+ with Node \S+ \(A: needs GLIBC_2\.38; B: has no binary for \S+ or is not installed\)$/,
    );
  });
});
