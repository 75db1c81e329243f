/** The value of a header; undefined if it is absent. */
export type HeaderValue = (name: string) => string | undefined;

/**
 * The API key in the headers of a call; "" if there is none. With `authorization: Basic` the key is the password:
 * ADBC, JDBC and other SQL clients ask for a user and a password.
 */
export function keyOf(header: HeaderValue): string {
  const authorization = header("authorization");
  if (authorization === undefined) return header("x-api-key") ?? "";
  const [, scheme = "", value = ""] = /^(\w+) +(\S+)\s*$/.exec(authorization) ?? [];
  if (scheme.toLowerCase() === "bearer") return value;
  if (scheme.toLowerCase() !== "basic") return "";
  const decoded = Buffer.from(value, "base64").toString();
  return decoded.slice(decoded.indexOf(":") + 1);
}
