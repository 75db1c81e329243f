import { ConfigError, type OptionType } from "./option.js";

/** Origins of web pages, separated by commas, or `*`. */
export const origins: OptionType<readonly string[]> = {
  placeholder: "ORIGIN,...",
  parse: (text) => text.split(",").map((one) => origin(one.trim())),
};

function origin(text: string): string {
  if (text === "*") return text;
  // Browsers send the origin in this form. Another form would never match.
  if (URL.canParse(text) && /^https?:/.test(text) && new URL(text).origin === text) return text;
  throw new ConfigError(
    `must be * or an origin in the form of browsers, lower case, without a path and a default port, such as https://app.example or http://localhost:3000, got "${text}"`,
  );
}

/** @throws ConfigError if the origins exclude each other or need keys */
export function corsOriginsOf(
  list: readonly string[],
  auth: "keys" | "none",
): readonly string[] | undefined {
  if (list.length === 0) return undefined;
  if (list.includes("*") && list.length > 1) {
    throw new ConfigError("--cors-origins takes either * or a list of origins, not both");
  }
  if (list.includes("*") && auth === "none") {
    throw new ConfigError(
      "--cors-origins * needs --auth keys: without keys every web page could change the tables",
    );
  }
  return list;
}
