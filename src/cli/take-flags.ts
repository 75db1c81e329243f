import { ConfigError } from "../config/option.js";

/** The flags of a command, and the arguments that remain. */
export interface TakenFlags<Single extends string, Repeatable extends string> {
  readonly flags: Readonly<Partial<Record<Single, string>>>;
  readonly lists: Readonly<Partial<Record<Repeatable, readonly string[]>>>;
  readonly rest: readonly string[];
}

/**
 * Separates the flags of a command (`--flag value` or `--flag=value`) from its other arguments.
 * @throws ConfigError for a flag without a value, and for a flag of `single` that occurs twice
 */
export function takeFlags<const Single extends string, const Repeatable extends string = never>(
  args: readonly string[],
  single: readonly Single[],
  repeatable: readonly Repeatable[] = [],
): TakenFlags<Single, Repeatable> {
  const flags: Partial<Record<Single, string>> = {};
  const lists: Partial<Record<Repeatable, string[]>> = {};
  const rest: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] as string;
    const [flag = ""] = arg.split("=", 1);
    const singleFlag = single.find((name) => name === flag);
    const listFlag = repeatable.find((name) => name === flag);
    if (singleFlag === undefined && listFlag === undefined) {
      rest.push(arg);
      continue;
    }
    const value = arg === flag ? args[++at] : arg.slice(flag.length + 1);
    if (value === undefined) throw new ConfigError(`${flag} needs a value`);
    if (listFlag !== undefined) {
      lists[listFlag] = [...(lists[listFlag] ?? []), value];
    } else if (singleFlag !== undefined) {
      if (flags[singleFlag] !== undefined) {
        throw new ConfigError(`${flag} is given twice: give it once`);
      }
      flags[singleFlag] = value;
    }
  }
  return { flags, lists, rest };
}
