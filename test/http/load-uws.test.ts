import { describe, expect, it } from "vitest";
import { transportOf } from "../../src/http/transport/open.js";
import {
  allBuilds,
  automaticBuilds,
  firstInstalled,
  loadUws,
} from "../../src/http/transport/uws/load.js";

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

  it("comes from the platform package, and from the development dependencies without one", () => {
    const missing = Object.assign(new Error("Cannot find module"), { code: "MODULE_NOT_FOUND" });
    const tooNew = Object.assign(new Error("GLIBC_2.38"), { code: "ERR_DLOPEN_FAILED" });
    const load = (fate: Record<string, unknown>) => () =>
      firstInstalled(Object.keys(fate), (name) => {
        if (fate[name] instanceof Error) throw fate[name];
        return fate[name];
      });
    expect(load({ packaged: 1, development: 2 })()).toBe(1);
    expect(load({ packaged: missing, development: 2 })()).toBe(2);
    expect(load({ packaged: missing, development: missing })).toThrow(missing);
    // The same build from elsewhere would fail too, and its reason is worth more than "not installed".
    expect(load({ packaged: tooNew, development: missing })).toThrow(tooNew);
  });

  it("20.30, which leaves requests without an answer, is chosen by --http uws only", () => {
    expect(allBuilds.map(({ name }) => name)).toContain("uWebSockets.js 20.30");
    expect(automaticBuilds.map(({ name }) => name)).toEqual(["uWebSockets.js 20.57"]);
    expect(transportOf("auto").name).toMatch(/^(uWebSockets\.js 20\.57|Node [\d.]+)$/);
  });

  it("that loads nowhere is told in one sentence", () => {
    const builds = [
      failing(
        "A",
        "supports only (glibc) Linux\n\nError: /lib/x86_64/libc.so.6: version `GLIBC_2.38' not found (required by /x/y.node)",
      ),
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
