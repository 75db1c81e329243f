import { ConfigError } from "../config/option.js";

/**
 * `joust demo`. On a terminal, or with `--stay`, it serves until Ctrl-C. Otherwise, or with `--once`, it
 * exits after its queries.
 */
export async function demo(args: readonly string[]): Promise<void> {
  const unknown = args.find((arg) => arg !== "--once" && arg !== "--stay");
  if (unknown !== undefined) {
    throw new ConfigError(`joust demo takes --once or --stay, got "${unknown}"`);
  }
  const stay = args.includes("--stay") || (process.stdout.isTTY && !args.includes("--once"));
  // Report a missing engine before anything starts.
  await import("../engine/native.js");
  const { demo: runDemo } = await import("../demo/demo.js");
  await runDemo({ stay });
}
