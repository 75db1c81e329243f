const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: "the port is taken: choose another --port, or end the program that listens there",
  EACCES: "the port needs more rights: choose a --port above 1023",
  EADDRNOTAVAIL: "the address is not this host's: choose another --host",
  ENOTFOUND: "no such host is known: choose another --host",
};

/** Why a transport cannot listen on an address, from the code of the system's error. */
export function addressError(host: string, port: number, code: string | undefined): Error {
  const reason = reasons[code ?? ""] ?? code ?? "the address is not free";
  return new Error(`cannot listen on ${host}:${port}: ${reason}`);
}
