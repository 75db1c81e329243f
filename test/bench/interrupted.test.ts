import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { processTree } from "../../bench/measure/processes.mjs";
import { removeDir, tempDir } from "../harness/temp.js";

const program = fileURLToPath(new URL("../../scripts/run.mjs", import.meta.url));

/** The servers are suspended half of the time; an interrupted run must not leave them so. */
test.runIf(existsSync("/proc/self/stat"))(
  "an interrupted run leaves no process and no file",
  async () => {
    const scratch = tempDir("bench-interrupted");
    const args = ["bench", "--quick", "--rows=600", "--contenders=joust", "count", "describe"];
    const run = spawn(process.execPath, [program, ...args, `--out=${scratch}/out`], {
      env: { ...process.env, TMPDIR: scratch },
      stdio: ["ignore", "ignore", "pipe"],
    });
    try {
      let said = "";
      run.stderr.on("data", (chunk: Buffer) => {
        said += chunk;
      });
      await expect.poll(() => said, { timeout: 60_000 }).toContain("count of all rows, 8 clients");
      const started = processTree(run.pid ?? 0).slice(1);
      expect(started.length).toBeGreaterThan(0);
      const ended = new Promise((resolve) => run.once("exit", resolve));
      run.kill("SIGTERM");
      expect(await ended).toBe(130);
      const left = () => started.filter((pid) => existsSync(`/proc/${pid}`));
      await expect.poll(left, { timeout: 20_000 }).toEqual([]);
      expect(readdirSync(scratch)).toEqual([]);
    } finally {
      run.kill("SIGKILL");
      removeDir(scratch);
    }
  },
  120_000,
);
