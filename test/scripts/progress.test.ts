import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { crateNames, crateWeights, namesOf } from "../../scripts/build/crates.mjs";
import { criticalPath } from "../../scripts/build/critical-path.mjs";
import { Estimate, roughly } from "../../scripts/build/estimate.mjs";
import { CompileProgress } from "../../scripts/build/progress.mjs";
import { secondsByCrate, unitsOf, weightsOf } from "../../scripts/build/timings.mjs";

const cores = availableParallelism();
const MINUTE = 60_000;

/** Ten minutes of work, two crates at a time, and one minute at the end. */
const weights = {
  cores,
  parallel: 2,
  rest: 60,
  crates: { lance: 300, arrow: 240, last: 60 },
  serial: ["last"],
};

describe("the estimate of the remaining build time", () => {
  it("starts with the recorded times and follows the clock at the recorded pace", () => {
    const estimate = new Estimate(weights, ["lance", "arrow", "small", "last"], 0);
    // (300 + 240 + 60) / 2 and the last crate by itself.
    expect(estimate.left(0) / MINUTE).toBeCloseTo(6);
    expect(estimate.isMeasured(0)).toBe(false);
    estimate.compiling(["arrow", "lance"], 0);
    estimate.compiling(["small", "lance"], 4 * MINUTE);
    expect(estimate.left(4 * MINUTE) / MINUTE).toBeCloseTo(2, 0);
    expect(estimate.share(4 * MINUTE)).toBeCloseTo((240 + 240) / 660);
    expect(estimate.isMeasured(4 * MINUTE)).toBe(true);
  });

  it("adapts to a machine of half the speed", () => {
    const estimate = new Estimate(weights, ["lance", "arrow", "last"], 0);
    estimate.compiling(["arrow", "lance"], 0);
    estimate.compiling(["lance(build)"], 8 * MINUTE);
    // With the recorded pace the estimate would be 240 s lower for the last crate alone.
    const left = estimate.left(8 * MINUTE);
    expect(left).toBeGreaterThan(1.5 * MINUTE);
    expect(left).toBeLessThan(2 * MINUTE);
  });

  it("leaves out crates that an earlier build compiled", () => {
    const estimate = new Estimate(weights, ["lance", "arrow", "last"], 0);
    estimate.fresh("lance");
    estimate.fresh("arrow");
    expect(estimate.left(0) / MINUTE).toBeCloseTo(1);
    estimate.compiling(["last"], 0);
    // Longer than recorded: nearly done.
    expect(estimate.left(5 * MINUTE)).toBeGreaterThan(0);
    expect(estimate.share(5 * MINUTE)).toBeLessThan(1);
    estimate.compiling([], 5 * MINUTE);
    expect([estimate.left(5 * MINUTE), estimate.share(5 * MINUTE)]).toEqual([0, 1]);
  });

  it("counts a crate as done when its library is done, including a fast crate that was never listed", () => {
    const estimate = new Estimate(weights, ["arrow", "small"], 0);
    estimate.compiling(["arrow(build.rs)"], 0);
    estimate.compiling(["arrow(build)"], 1000);
    estimate.compiling([], 2000);
    expect(estimate.share(2000)).toBe(0);
    estimate.begin("small");
    estimate.compiling(["arrow"], 3000);
    expect(estimate.share(3000)).toBeCloseTo(60 / 300);
  });

  it("is printed in words without false precision", () => {
    expect([20_000, 61_000, 9.5 * MINUTE, 12 * MINUTE, 28 * MINUTE].map(roughly)).toEqual([
      "less than a minute",
      "about 1 min",
      "about 10 min",
      "about 10 min",
      "about 30 min",
    ]);
  });
});

describe("the progress display of a build", () => {
  // Output of cargo 1.95 for three crates, the first with a build script, the last with a warning.
  const output = readFileSync(join(import.meta.dirname, "recorded", "cargo-build.txt"), "utf8");
  const names = ["toy-a", "toy-b", "toy-c"];

  /** The printed lines for the recorded output, one second for each chunk. */
  function printed(isTTY: boolean, secondsEach: number): string {
    let now = 0;
    let text = "";
    const out = {
      isTTY,
      columns: 200,
      write: (piece: string) => {
        text += piece;
        return true;
      },
    };
    const small = { ...weights, rest: 40 };
    const progress = new CompileProgress({ weights: small, names, out, now: () => now });
    for (const piece of output.split(/(?<=[\r\n])/)) {
      progress.write(Buffer.from(piece.slice(0, 7)));
      progress.write(Buffer.from(piece.slice(7)));
      now += secondsEach * 1000;
    }
    progress.end();
    return text;
  }

  it("is a bar with the remaining time on a terminal", () => {
    const text = printed(true, 5);
    const lines = text.split("\r").map((line) => line.replace("\x1b[2K", ""));
    expect(lines[0]).toBe(
      "[------------------------] 0 %, 0 min, about 1 min left by a first estimate (toy-a(build.rs))",
    );
    const shares = lines.map((line) => Number(/\] (\d+) %/.exec(line)?.[1] ?? -1));
    const seen = shares.filter((share) => share >= 0);
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
    expect(seen.at(-1)).toBeGreaterThan(60);
    expect(text).toContain("[##################------] 75 %");
  });

  it("is a line every half minute elsewhere, with the measured pace after the first", () => {
    const lines = printed(false, 20)
      .split("\n")
      .filter((line) => line.startsWith("compiling"));
    expect(lines.length).toBeGreaterThan(2);
    expect(lines[0]).toMatch(
      /^compiling the engine: \d+ %, [01] min, .* left by a first estimate \(/,
    );
    expect(lines.at(-1)).toMatch(/^compiling the engine: \d+ %, \d+ min, .* left \(toy-c\)$/);
  });

  it("passes on warnings and hides cargo's routine output", () => {
    const lines = printed(false, 0).split("\n");
    expect(lines[0]).toBe("warning: unused variable: `x`");
    expect(lines.join("\n")).not.toMatch(/Running|Compiling|Fresh|Finished|Building/);
  });
});

describe("the recorded crate times", () => {
  it("name crates of this build", () => {
    const known = crateNames([]);
    const named = Object.keys(crateWeights().crates);
    expect(named.length).toBeGreaterThan(1);
    expect(named.filter((name) => !known.has(name))).toEqual([]);
    expect(crateWeights({ quick: true }).crates["joust-core"]).toBeLessThan(
      crateWeights().crates["joust-core"] as number,
    );
    expect(namesOf("bytes v1.12.1\nserde v1.0.229 (*)\n\n")).toEqual(new Set(["bytes", "serde"]));
  });

  /** Cargo's report of `a` with a build script, `b` that depends on it, and the macro `c` that `b` uses. */
  const unit = { version: "1.0.0", target: "", sections: null };
  const units = [
    { ...unit, i: 0, name: "a", target: " build-script (run)", start: 0, duration: 2 },
    {
      ...unit,
      i: 1,
      name: "a",
      start: 2,
      duration: 10,
      sections: [["frontend", { start: 0, end: 4 }]],
    },
    { ...unit, i: 2, name: "b", start: 6, duration: 7 },
    { ...unit, i: 3, name: "c", start: 0, duration: 5 },
  ];

  it("are read from cargo's report", () => {
    const html = `<script>\nconst UNIT_DATA = ${JSON.stringify(units, null, 2)};\n</script>`;
    const read = unitsOf(html);
    expect(secondsByCrate(read)).toEqual([
      ["a", 12],
      ["b", 7],
      ["c", 5],
    ]);
    expect(weightsOf(read, 4)).toEqual({
      cores: 4,
      parallel: 1.8,
      rest: 0,
      crates: { a: 12, b: 7, c: 5 },
    });
    expect(() => unitsOf("<html></html>")).toThrow("not a report of cargo build --timings");
  });

  it("yield the critical path: a library waits for the frontend and a macro is waited for", () => {
    const kind = (name: string, kinds: string[]) => ({
      id: name,
      name,
      version: "1.0.0",
      targets: [{ kind: kinds }],
    });
    const uses = (pkg: string) => ({ pkg, dep_kinds: [{ kind: null }] });
    const metadata = (kinds: string[]) => ({
      packages: [kind("a", ["lib"]), kind("b", kinds), kind("c", ["proc-macro"])],
      resolve: {
        nodes: [
          { id: "a", deps: [] },
          { id: "b", deps: [uses("a"), uses("c")] },
          { id: "c", deps: [] },
        ],
      },
    });
    expect(criticalPath(units as never, metadata(["lib"]))).toEqual({
      seconds: 13,
      names: ["a (build script)", "a", "b"],
    });
    expect(criticalPath(units as never, metadata(["cdylib"])).seconds).toBe(19);
  });
});
