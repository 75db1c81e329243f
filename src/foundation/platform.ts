import { createRequire } from "node:module";

interface Report {
  /** Node's types do not know it yet. */
  excludeNetwork?: boolean;
  getReport(): object;
}

/** The version of this host's glibc; undefined where there is none (musl, macOS, Windows). */
export function glibcVersion(): string | undefined {
  if (process.platform !== "linux") return undefined;
  const report = process.report as Report;
  // A report asks the DNS for the names of the peers of open connections otherwise.
  report.excludeNetwork = true;
  const { header } = report.getReport() as { header: { glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime;
}

/** This host as the platform packages are named: `linux-x64-gnu`. */
export function platformName(): string {
  const { platform, arch } = process;
  if (platform === "win32") return `win32-${arch}-msvc`;
  if (platform !== "linux") return `${platform}-${arch}`;
  return `linux-${arch}-${glibcVersion() === undefined ? "musl" : "gnu"}`;
}

/** The npm package that carries the compiled parts for this host. */
export const platformPackage = `joust-${platformName()}`;

/** Loads a module as CommonJS does, from where joust is installed. */
export const requireHere: NodeJS.Require = createRequire(import.meta.url);
