import { platformPackage, requireHere } from "../../../foundation/platform.js";
import type { Uws } from "./types.js";

/** A build of uWebSockets.js. */
interface Build {
  readonly name: string;
  load(): unknown;
}

const abi = `${process.platform}_${process.arch}_${process.versions.modules}`;

/**
 * A build of uWebSockets.js. The platform package carries those of its platform. A checkout has those of all
 * platforms as development dependencies.
 */
function build(version: string, development: string): Build {
  const packaged = `${platformPackage}/uws/${version}/uws_${abi}.node`;
  return { name: `uWebSockets.js ${version}`, load: () => firstInstalled([packaged, development]) };
}

/** The build that answers every request. */
const CURRENT: Build = build("20.57", "uws-20-57");

/**
 * For Node 20 on glibc older than 2.38. It leaves requests in HTTP/1.0 and requests without `Host` without an
 * answer, so `auto` does not choose it. The main file of the development dependency answers with a slow JavaScript
 * imitation when the binary does not load, so the binary is named.
 */
const OLD: Build = build("20.30", `uws-20-30/binaries/uws_${abi}.node`);

/** The builds that `--http auto` chooses from. */
export const automaticBuilds: readonly Build[] = [CURRENT];

/** The builds that `--http uws` chooses from, newest first. */
export const allBuilds: readonly Build[] = [CURRENT, OLD];

/**
 * The first of some modules that is installed.
 * @throws what prevents it from loading, or that none is installed
 */
export function firstInstalled(
  modules: readonly string[],
  load: (module: string) => unknown = requireHere,
): unknown {
  for (const [at, module] of modules.entries()) {
    try {
      return load(module);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "MODULE_NOT_FOUND" || at === modules.length - 1) throw error;
    }
  }
  throw new Error("no module is named");
}

/**
 * The first of the builds that this host can load, with its name.
 * @throws Error with one sentence when it can load none.
 */
export function loadUws(from: readonly Build[]): { name: string; uws: Uws } {
  const reasons: string[] = [];
  for (const build of from) {
    try {
      return { name: build.name, uws: build.load() as Uws };
    } catch (error) {
      reasons.push(`${build.name}: ${reason(error)}`);
    }
  }
  throw new Error(
    `no build of uWebSockets.js loads on ${process.platform}-${process.arch} with Node ${process.versions.node} (${reasons.join("; ")})`,
  );
}

/** The line of a loader's error that says why. */
function reason(error: unknown): string {
  const lines = String(error instanceof Error ? error.message : error).split("\n");
  const telling = lines.find((line) => /GLIBC_|cannot open|not found|wrong ELF/.test(line));
  if (telling?.includes("GLIBC_"))
    return `needs ${/GLIBC_[\d.]+/.exec(telling)?.[0] ?? "a newer glibc"}`;
  if (/Cannot find module/.test(lines.join(" ")))
    return `has no binary for ${abi} or is not installed`;
  return (telling ?? lines[0] ?? "").replace(/(?:\/[^\s/:]+)+\//g, "");
}
