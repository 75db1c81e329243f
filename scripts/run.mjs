/**
 * `node scripts/run.mjs TASK ARGS...`: set-up, then the task. What the npm scripts call. A task
 * module exports `run(args)`, whose value (0 when absent) is the exit code.
 */
import { setup } from "./setup.mjs";

/** Tasks that only run joust, so that a published engine serves them. */
const USES_PUBLISHED = new Set(["demo", "start"]);

const [task, ...args] = process.argv.slice(2);
try {
  await setup({ published: USES_PUBLISHED.has(task) });
  const { run } = await import(`./tasks/${task}.mjs`);
  const code = await run(args);
  if (code) process.exitCode = code;
} catch (error) {
  console.error(`${task} failed: ${error.message}`);
  process.exitCode = 1;
}
