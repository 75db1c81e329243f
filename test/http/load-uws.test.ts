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
  it("is loaded as a native build and never as a JavaScript emulation", () => {
    expect(String(loadUws(allBuilds).uws.App)).toContain("[native code]");
  });

  it("is loaded from the first build of the list that works", () => {
    const build = { App: () => {} };
    const older = { name: "older", load: () => build };
    expect(loadUws([failing("newer", "version `GLIBC_2.38' not found"), older]).uws).toBe(build);
    const newest = { App: () => {} };
    expect(loadUws([{ name: "newest", load: () => newest }, older]).uws).toBe(newest);
  });

  it("is loaded from the platform package or else from the development dependencies", () => {
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
    // The same build from another package would fail too; its message says more than "not installed".
    expect(load({ packaged: tooNew, development: missing })).toThrow(tooNew);
  });

  it("version 20.30, which leaves some requests without a response, is used only with --http uws", () => {
    expect(allBuilds.map(({ name }) => name)).toContain("uWebSockets.js 20.30");
    expect(automaticBuilds.map(({ name }) => name)).toEqual(["uWebSockets.js 20.57"]);
    expect(transportOf("auto").name).toMatch(/^(uWebSockets\.js 20\.57|Node [\d.]+)$/);
  });

  it("is reported in one sentence if no build loads", () => {
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
