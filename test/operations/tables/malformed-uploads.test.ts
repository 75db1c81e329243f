/** Arrow uploads that fuzzing found or that damage a valid one: the corpus of the fuzzing target `ipc`. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { setupServer } from "../../harness/setup-server.js";

const corpus = join(import.meta.dirname, "../../../crates/joust-fuzz/corpus/ipc");
const joust = setupServer();

it("malformed uploads are errors of the client and leave nothing in the log", async () => {
  const files = readdirSync(corpus);
  expect(files.filter((name) => name.startsWith("damaged")).length).toBeGreaterThan(5);
  for (const [at, name] of files.entries()) {
    const body = readFileSync(join(corpus, name));
    const { status, text } = await joust.client.post(`/v1/table/t${at}/create`, body);
    expect([name, status, text]).toEqual([
      name,
      status === 200 ? 200 : 400,
      expect.not.stringContaining("panic"),
    ]);
  }
  expect(joust.server.output()).not.toMatch(/panicked/);
});
