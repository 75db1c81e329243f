interface Report {
  /** Missing in Node's types. */
  excludeNetwork?: boolean;
  getReport(): object;
}

/** The glibc version of this host; undefined without glibc (musl, macOS, Windows). */
export function glibcVersion(): string | undefined {
  if (process.platform !== "linux") return undefined;
  const report = process.report as Report;
  // Otherwise the report resolves the host names of open connections.
  report.excludeNetwork = true;
  const { header } = report.getReport() as { header: { glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime;
}

/** The platform of this host in the names of the platform packages: `linux-x64-gnu`. */
export function platformName(): string {
  const { platform, arch } = process;
  if (platform === "win32") return `win32-${arch}-msvc`;
  if (platform !== "linux") return `${platform}-${arch}`;
  return `linux-${arch}-${glibcVersion() === undefined ? "musl" : "gnu"}`;
}

/** The npm package with the compiled parts for this host. */
export const platformPackage = `joust-${platformName()}`;
