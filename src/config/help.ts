import type { Option } from "./option.js";
import { serverOptions } from "./options.js";

/** The options as the help lists them. */
export function optionHelp(): string {
  const rows = Object.entries(serverOptions as Record<string, Option<unknown>>)
    .filter(([name]) => name !== "root")
    .map(([name, option]): [string, string] => {
      const fallback = option.fallback === undefined ? "" : ` [${option.fallback}]`;
      const again = option.repeatable ? "; may be given again" : "";
      return [`--${name} ${option.type.placeholder}`, `${option.help}${again}${fallback}`];
    });
  rows.push(["--config FILE", "TOML file with the same names as keys [./joust.toml, if there]"]);
  const width = Math.max(...rows.map(([flag]) => flag.length));
  return rows.map(([flag, help]) => `  ${flag.padEnd(width)}  ${help}`).join("\n");
}
