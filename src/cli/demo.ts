import { ConfigError } from "../config/option.js";

/**
 * `joust demo`: on a terminal it keeps serving until Ctrl-C. Elsewhere, and with `--once`, it ends; with
 * `--stay` it does not.
 */
export async function demo(args: readonly string[]): Promise<void> {
  const unknown = args.find((arg) => arg !== "--once" && arg !== "--stay");
  if (unknown !== undefined) {
    throw new ConfigError(`joust demo takes --once or --stay, got "${unknown}"`);
  }
  const stay = args.includes("--stay") || (process.stdout.isTTY && !args.includes("--once"));
  // A host without an engine is reported before anything is started.
  await import("../engine/native.js");
  const { demo: show } = await import("../demo/demo.js");
  await show({ stay });
}
