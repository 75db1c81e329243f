import { SocketAddress } from "node:net";

const decoder = new TextDecoder();

/** The address of a connection in its shortest form. uWebSockets.js writes out all groups of an IPv6 address. */
export function remoteAddress(text: ArrayBuffer | string): string {
  const address = typeof text === "string" ? text : decoder.decode(text);
  if (!address.includes(":")) return address;
  const shortest = new SocketAddress({ address, family: "ipv6" }).address;
  // An IPv4 client of a socket that accepts both.
  return shortest.replace(/^::ffff:(?=\d+\.)/, "");
}
