import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { root } from "./paths.mjs";

const LOCK = join(root, ".setup.lock");

/** Runs `work` while no other set-up of this checkout runs. A lock whose owner is gone counts as free. */
export async function exclusively(work) {
  let told = false;
  while (!take()) {
    if (!told) console.error("waiting for another set-up of this checkout");
    told = true;
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

function take() {
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

/** A lock file that is still empty has an owner who is about to write. */
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
