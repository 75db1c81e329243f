import { platformPackage } from "../../../foundation/platform.js";
import { requireModule } from "../../../foundation/require-module.js";
import type { Uws } from "./types.js";

/** A build of uWebSockets.js. */
interface Build {
  readonly name: string;
  load(): unknown;
}

const abi = `${process.platform}_${process.arch}_${process.versions.modules}`;

/**
 * A build of uWebSockets.js. The platform package contains the builds of its platform. In a checkout the
 * builds of all platforms are development dependencies.
 */
function build(version: string, development: string): Build {
  const packaged = `${platformPackage}/uws/${version}/uws_${abi}.node`;
  return { name: `uWebSockets.js ${version}`, load: () => firstInstalled([packaged, development]) };
}

/** The build that replies to every request. */
const CURRENT: Build = build("20.57", "uws-20-57");

/**
 * For Node 20 on glibc older than 2.38. It does not reply to HTTP/1.0 requests and to requests without `Host`,
 * so `auto` does not choose it. If the binary does not load, the main file of the development dependency falls
 * back to a slow JavaScript imitation, so this code loads the binary directly.
 */
const OLD: Build = build("20.30", `uws-20-30/binaries/uws_${abi}.node`);

/** The builds that `--http auto` chooses from. */
export const automaticBuilds: readonly Build[] = [CURRENT];

/** The builds that `--http uws` chooses from, newest first. */
export const allBuilds: readonly Build[] = [CURRENT, OLD];

/**
 * Loads the first of several modules that is installed.
 * @throws the loader's error if that module does not load, or if none is installed
 */
export function firstInstalled(
  modules: readonly string[],
  load: (module: string) => unknown = requireModule,
): unknown {
  for (const [at, module] of modules.entries()) {
    try {
      return load(module);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "MODULE_NOT_FOUND" || at === modules.length - 1) throw error;
    }
  }
  throw new Error("the list of modules is empty");
}

/**
 * Loads the first build that works on this host.
 * @throws Error with one sentence if no build loads
 */
export function loadUws(builds: readonly Build[]): { name: string; uws: Uws } {
  const reasons: string[] = [];
  for (const build of builds) {
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

/** The line of a loader's error that contains the reason. */
function reason(error: unknown): string {
  const lines = String(error instanceof Error ? error.message : error).split("\n");
  const cause = lines.find((line) => /GLIBC_|cannot open|not found|wrong ELF/.test(line));
  if (cause?.includes("GLIBC_"))
    return `needs ${/GLIBC_[\d.]+/.exec(cause)?.[0] ?? "a newer glibc"}`;
  if (/Cannot find module/.test(lines.join(" ")))
    return `has no binary for ${abi} or is not installed`;
  return (cause ?? lines[0] ?? "").replace(/(?:\/[^\s/:]+)+\//g, "");
}
