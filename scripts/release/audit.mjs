/**
 * `node scripts/release/audit.mjs`: fails if an npm package that a user of joust runs, installed or in the bundle, has
 * a known vulnerability of the severity `moderate` or higher.
 */
import { spawnSync } from "node:child_process";
import { inShippedFolder } from "./shipped.mjs";

const audit = ["audit", "--package-lock-only", "--audit-level=moderate"];
const { status } = inShippedFolder((cwd) => spawnSync("npm", audit, { cwd, stdio: "inherit" }));
process.exitCode = status ?? 1;
