import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseTarget } from "./target.mjs";

/** The folder of the checkout. */
export const root = fileURLToPath(new URL("../../", import.meta.url));

/** The target directory of cargo. All checkouts share it, so that the engine compiles once. */
export const targetDir =
  process.env.CARGO_TARGET_DIR ?? join(homedir(), ".cache", "joust", "target");

const abi = { linux: "-gnu", win32: "-msvc" }[process.platform] ?? "";

/** The target of JOUST_TARGET; undefined for this machine. */
export const target = parseTarget(process.env.JOUST_TARGET);

/** The platform to compile for, with the name that npm packages of native addons use: `linux-x64-gnu`. */
export const platform = target?.platform ?? `${process.platform}-${process.arch}${abi}`;

/** The path where native/index.js looks for the addon. */
export const addonPath = join(root, "native", `joust.${platform}.node`);

/** The directory of cargo for a profile, below the name of the target if there is one. */
export const profileDir = (profile) => join(targetDir, target?.triple ?? "", profile);
