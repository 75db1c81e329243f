import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseTarget } from "./target.mjs";

/** The checkout. */
export const root = fileURLToPath(new URL("../../", import.meta.url));

/** Outside the checkout, so that a second one does not compile the engine again. */
export const targetDir =
  process.env.CARGO_TARGET_DIR ?? join(homedir(), ".cache", "joust", "target");

const abi = { linux: "-gnu", win32: "-msvc" }[process.platform] ?? "";

/** What JOUST_TARGET asks to compile for; undefined for this machine as it is. */
export const target = parseTarget(process.env.JOUST_TARGET);

/** What is compiled for, as npm packages of native addons name it: `linux-x64-gnu`. */
export const platform = target?.platform ?? `${process.platform}-${process.arch}${abi}`;

/** The addon as native/index.js looks for it. */
export const addonPath = join(root, "native", `joust.${platform}.node`);

/** Cargo's directory of a profile: beside the target's name where one is asked for. */
export const profileDir = (profile) => join(targetDir, target?.triple ?? "", profile);
