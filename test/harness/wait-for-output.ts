import { waitFor } from "./wait-for.js";

/**
 * Waits until the output of a process matches `expected`. Output arrives through a pipe, so it can be later than the
 * effect that it describes. If it does not arrive, the error shows the output.
 */
export async function waitForOutput(
  process: { output(): string },
  expected: string | RegExp,
): Promise<void> {
  const matches = () => {
    const output = process.output();
    if (typeof expected === "string" ? output.includes(expected) : expected.test(output))
      return true;
    throw new Error(`the output is:\n${output}`);
  };
  await waitFor(`the output contains ${expected}`, matches);
}
