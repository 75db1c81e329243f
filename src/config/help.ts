import type { Option } from "./option.js";
import { serverOptions } from "./options.js";

/** The list of options in the help text. */
export function optionHelp(): string {
  const rows = Object.entries(serverOptions as Record<string, Option<unknown>>)
    .filter(([name]) => name !== "root")
    .map(([name, option]): [string, string] => {
      const fallback = option.fallback === undefined ? "" : ` [${option.fallback}]`;
      const repeatable = option.repeatable ? " (repeatable)" : "";
      return [`--${name} ${option.type.placeholder}`, `${option.help}${repeatable}${fallback}`];
    });
  rows.push([
    "--config FILE",
    "TOML file with the same option names as keys [./joust.toml if it exists]",
  ]);
  const width = Math.max(...rows.map(([flag]) => flag.length));
  return rows.map(([flag, help]) => `  ${flag.padEnd(width)}  ${help}`).join("\n");
}
