import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FileWatch } from "../../src/foundation/file-watch.js";
import { removeDir, tempDir } from "../harness/temp.js";

describe("FileWatch", () => {
  let dir: string;
  let file: string;
  const changed = vi.fn();
  const check = () => vi.advanceTimersByTime(2_000);

  beforeEach(() => {
    vi.useFakeTimers();
    changed.mockReset();
    dir = tempDir("watch");
    file = join(dir, "a");
    writeFileSync(file, "1");
  });
  afterEach(() => {
    vi.useRealTimers();
    removeDir(dir);
  });

  it("reports a change between its creation and its start", () => {
    const watch = new FileWatch([file]);
    writeFileSync(file, "22");
    const stop = watch.start(changed);
    check();
    expect(changed).toHaveBeenCalledTimes(1);
    stop();
  });

  it("reports each change once, and nothing after it is stopped", () => {
    const stop = new FileWatch([file, join(dir, "absent")]).start(changed);
    check();
    expect(changed).not.toHaveBeenCalled();
    writeFileSync(file, "22");
    check();
    check();
    expect(changed).toHaveBeenCalledTimes(1);
    stop();
    writeFileSync(file, "333");
    check();
    expect(changed).toHaveBeenCalledTimes(1);
  });

  it("reports a replaced file when it is there again", () => {
    const stop = new FileWatch([file]).start(changed);
    rmSync(file);
    check();
    expect(changed).not.toHaveBeenCalled();
    writeFileSync(join(dir, "b"), "1");
    renameSync(join(dir, "b"), file);
    check();
    expect(changed).toHaveBeenCalledTimes(1);
    stop();
  });
});
