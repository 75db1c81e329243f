/** The facts about a host that explain why the engine does not load. */
export interface HostPlatform {
  /** Named as the platform packages are: `linux-x64-gnu`. */
  readonly platform: string;
  /** Undefined without glibc. */
  readonly glibc?: string | undefined;
  /** Platforms for which package.json lists a package; none in a checkout. */
  readonly published: readonly string[];
}

const compile =
  "compile joust from its sources with Rust 1.94 or newer (`npm run build` in a checkout)";

/**
 * One sentence that says why the engine does not load and what to do. The loader that napi generates
 * reports every failure as a bug of npm; the chain of causes has the actual errors.
 */
export function loadFailure(error: unknown, { platform, glibc, published }: HostPlatform): string {
  const messages = causes(error);
  const dlopen = messages.find((message) => !isMissing(message));
  const versions = messages.join("\n").match(/(?<=GLIBC_)\d+\.\d+/g);
  if (versions) {
    const needed = [...versions].sort(compareVersions).at(-1);
    return `the engine needs glibc ${needed} or newer and this host has ${glibc ?? "none"}: use a newer distribution, or ${compile}`;
  }
  if (
    dlopen !== undefined &&
    /wrong ELF|invalid ELF|incompatible|not a (?:valid|mach-o)/i.test(dlopen)
  ) {
    return `the installed engine is for another platform than ${platform}: remove node_modules and install joust again on this host, or ${compile}`;
  }
  if (dlopen !== undefined) {
    return `the engine for ${platform} does not load (${withoutPaths(dlopen)}): install joust again, or ${compile}`;
  }
  if (published.length === 0) {
    return `the engine is not compiled for ${platform}: run \`npm run build\`, which needs Rust 1.94 or newer`;
  }
  if (published.includes(platform)) {
    return `the package joust-${platform} with the engine is not installed: install joust again without \`--omit=optional\` and with a lock file that lists this platform, or ${compile}`;
  }
  return `joust has no package for ${platform}: use a host with one of ${published.join(", ")}, or ${compile}`;
}

/** The messages of an error and of its causes, outermost first, without napi's own message. */
function causes(error: unknown): string[] {
  const messages: string[] = [];
  for (let one = error; one instanceof Error; one = one.cause) messages.push(one.message);
  return messages.filter((message) => !message.startsWith("Cannot find native binding"));
}

const isMissing = (message: string): boolean =>
  /^Cannot find module|^Failed to load native|^Unsupported (?:OS|architecture)|WASI/.test(message);

const compareVersions = (a: string, b: string): number => {
  const [majorA = 0, minorA = 0] = a.split(".").map(Number);
  const [majorB = 0, minorB = 0] = b.split(".").map(Number);
  return majorA - majorB || minorA - minorB;
};

/** The first line of a message, with file names in place of paths. */
const withoutPaths = (message: string): string =>
  (message.split("\n", 1)[0] ?? "").replace(/(?:\/[^\s/:]+)+\//g, "");
