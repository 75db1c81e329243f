const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: "the port is taken",
  EACCES: "the port needs more rights",
  EADDRNOTAVAIL: "the address is not this host's",
  ENOTFOUND: "no such host is known",
};

/** Why a transport cannot listen on an address, from the code of the system's error. */
export function addressError(host: string, port: number, code: string | undefined): Error {
  const reason = reasons[code ?? ""] ?? code ?? "the address is not free";
  return new Error(`cannot listen on ${host}:${port}: ${reason}`);
}
