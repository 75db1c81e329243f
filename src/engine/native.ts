import { packageManifest } from "../foundation/package-files.js";
import { glibcVersion, platformName } from "../foundation/platform.js";
import { loadFailure } from "./load-failure.js";

type Native = typeof import("../../native/index.js");

/** The compiled engine. The import fails with one sentence if this host has no binary. */
export const native: Native = await load();

async function load(): Promise<Native> {
  try {
    return await import("../../native/index.js");
  } catch (cause) {
    const host = { platform: platformName(), glibc: glibcVersion(), published: published() };
    throw new Error(loadFailure(cause, host), { cause });
  }
}

/** The platforms of the platform packages. The release adds them to package.json: a checkout has none. */
function published(): string[] {
  const { optionalDependencies = {} } = packageManifest();
  return Object.keys(optionalDependencies)
    .filter((name) => name.startsWith("joust-"))
    .map((name) => name.slice("joust-".length));
}
