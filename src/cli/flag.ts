import { ConfigError } from "../config/option.js";

/** Takes `--flag value` or `--flag=value` out of the arguments. */
export function takeFlag(
  args: readonly string[],
  flag: string,
): { value?: string; rest: string[] } {
  const at = args.findIndex((arg) => arg === flag || arg.startsWith(`${flag}=`));
  if (at < 0) return { rest: [...args] };
  const arg = args[at] as string;
  const inline = arg.includes("=");
  const value = inline ? arg.slice(flag.length + 1) : args[at + 1];
  if (value === undefined) throw new ConfigError(`${flag} needs a value`);
  return { value, rest: [...args.slice(0, at), ...args.slice(at + (inline ? 1 : 2))] };
}
