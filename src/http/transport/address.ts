const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: "the port is in use: choose another --port, or stop the program that listens on it",
  EACCES: "this user may not use the port: choose a --port above 1023",
  EADDRNOTAVAIL: "this host does not have the address: choose another --host",
  ENOTFOUND: "the host name is unknown: choose another --host",
};

/**
 * The error for an address that a transport cannot listen on. `code`: the code of the system error. `option`: the
 * option that sets the port.
 */
export function addressError(
  host: string,
  port: number,
  code: string | undefined,
  option = "--port",
): Error {
  const reason = reasons[code ?? ""] ?? code ?? "the address is not available";
  return new Error(`cannot listen on ${host}:${port}: ${reason.replace("--port", option)}`);
}
