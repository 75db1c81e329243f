import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { Engine, Upload } from "../../src/engine/index.js";
import { items } from "../harness/arrow.js";
import { removeDir, tempDir } from "../harness/temp.js";

describe("an Arrow stream for a table", () => {
  const engine = new Engine();
  const place = tempDir("bodies");
  afterAll(() => removeDir(place));

  it("can be one complete buffer", async () => {
    const table = engine.table(join(place, "whole.lance"));
    await table.create(items(3), false);
    expect((await table.append(items(4))).numRows).toBe(4);
    await table.append(Buffer.from(items(5)));
    expect(await table.countRows()).toBe(12);
    const cut = items(3).subarray(0, 100);
    await expect(table.append(cut)).rejects.toThrow(/ends inside a message/);
    expect(await table.countRows()).toBe(12);
  });

  it("can be read once as an upload and any number of times as a buffer", async () => {
    const table = engine.table(join(place, "again.lance"));
    const upload = new Upload(engine);
    upload.push(items(3));
    upload.finish();
    await table.create(upload, false);
    await expect(table.append(upload)).rejects.toThrow(/the upload has been used already/);
    const whole = items(3);
    await table.append(whole);
    await table.append(whole);
    expect(await table.countRows()).toBe(9);
  });

  it("must be a buffer or an upload", async () => {
    const table = engine.table(join(place, "other.lance"));
    expect(() => table.create("rows" as unknown as Uint8Array, false)).toThrow(
      /none of these types/,
    );
  });
});
