import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { root } from "./paths.mjs";

const LOCK = join(root, ".setup.lock");

/** Runs `work` under the lock of this checkout. The lock of a process that has ended counts as free. */
export async function withSetupLock(work) {
  let reported = false;
  while (!tryLock()) {
    if (!reported) console.error("waiting for another set-up of this checkout");
    reported = true;
    await sleep(500);
  }
  const release = () => rmSync(LOCK, { force: true });
  process.once("exit", release);
  try {
    return await work();
  } finally {
    process.off("exit", release);
    release();
  }
}

function tryLock() {
  try {
    writeFileSync(LOCK, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    if (!isRunning(owner())) rmSync(LOCK, { force: true });
    return false;
  }
}

function owner() {
  try {
    return Number(readFileSync(LOCK, "utf8"));
  } catch {
    return Number.NaN;
  }
}

/** An empty lock file (pid 0) belongs to a process that is about to write its id. */
function isRunning(pid) {
  if (pid === 0) return true;
  if (Number.isNaN(pid)) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}
