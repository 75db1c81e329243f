/**
 * `node scripts/run.mjs TASK ARGS...`: runs the set-up, then the task. The npm scripts call it. A task module exports
 * `run(args)`, which returns the exit code; the default is 0.
 */
import { setup } from "./setup.mjs";

/** Tasks that only run joust, for which a published engine is enough. */
const RUN_ONLY = new Set(["demo", "start"]);

const [task, ...args] = process.argv.slice(2);
try {
  await setup({ allowPublished: RUN_ONLY.has(task) });
  const { run } = await import(`./tasks/${task}.mjs`);
  const code = await run(args);
  if (code) process.exitCode = code;
} catch (error) {
  console.error(`${task} failed: ${error.message}`);
  process.exitCode = 1;
}
