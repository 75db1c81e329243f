import { isPostgres } from "../foundation/addresses.js";

/** The value of `--catalog` for the log: a Postgres URL without its password. A path stays as it is. */
export function withoutPassword(catalog: string): string {
  if (!isPostgres(catalog)) return catalog;
  // For example, a URL with several hosts. URL cannot parse it, so the position of its password is unknown.
  if (!URL.canParse(catalog)) return catalog.replace(/:\/\/.*$/s, "://...");
  const url = new URL(catalog);
  url.password = "";
  // Without this condition, the call would escape the other parameters anew.
  if (url.searchParams.has("password")) url.searchParams.delete("password");
  return url.href;
}
