import { BlockList, isIPv4, isIPv6 } from "node:net";
import { LimitExceeded, retryAfter } from "./limit-exceeded.js";
import type { LimitRules, Rate } from "./limit-rules.js";
import type { LimitSlots } from "./limit-slots.js";
import { takeTokens, waitForToken } from "./token-bucket.js";

/** The name of the budget of all addresses; no address has it. */
const TOTAL = "total";

type UnauthenticatedRules = LimitRules["unauthenticated"];

/** The budget of unauthenticated requests: of each remote address, and of all together. */
export class AddressBudget {
  readonly #proxies = new BlockList();
  readonly #hasProxies: boolean;

  constructor(
    private readonly rules: UnauthenticatedRules,
    private readonly slots: LimitSlots,
  ) {
    this.#hasProxies = rules.trustedProxies.length > 0;
    for (const block of rules.trustedProxies) {
      const [address = "", bits] = block.split("/");
      const family = isIPv4(address) ? "ipv4" : "ipv6";
      const most = family === "ipv4" ? 32 : 128;
      this.#proxies.addSubnet(address, Number(bits ?? most), family);
    }
  }

  /** @throws LimitExceeded */
  take(remote: string, forwardedFor: string, now: bigint): void {
    const address = this.#client(remote, forwardedFor);
    const { perAddress, total } = this.rules;
    this.#check(takeTokens(this.#bucket(address, now), perAddress, 1, now), perAddress, address);
    // After the address, so that a single address cannot use up the budget of all.
    this.#check(takeTokens(this.#bucket(TOTAL, now), total, 1, now), total);
  }

  /** As `take`, without taking anything. @throws LimitExceeded */
  check(remote: string, forwardedFor: string, now: bigint): void {
    const address = this.#client(remote, forwardedFor);
    const { perAddress, total } = this.rules;
    this.#check(waitForToken(this.#bucket(address, now), perAddress, now), perAddress, address);
    this.#check(waitForToken(this.#bucket(TOTAL, now), total, now), total);
  }

  #bucket(name: string, now: bigint) {
    return this.slots.of(name, now).requests;
  }

  #check(wait: bigint, { perSecond }: Rate, address?: string): void {
    if (wait === 0n) return;
    const who = address === undefined ? "all addresses together exceed" : "this address exceeds";
    throw new LimitExceeded(
      "requests_per_second",
      "unauthenticated",
      `the request has no valid API key, and ${who} ${perSecond} such requests per second`,
      retryAfter(wait),
    );
  }

  /** The last address of the chain that is not a trusted proxy. */
  #client(remote: string, forwardedFor: string): string {
    let address = remote;
    const chain = this.#hasProxies ? forwardedFor.split(",") : [];
    while (this.#isProxy(address)) {
      const previous = chain.pop()?.trim();
      if (previous === undefined || !(isIPv4(previous) || isIPv6(previous))) break;
      address = previous;
    }
    return addressKey(address);
  }

  #isProxy(address: string): boolean {
    if (!this.#hasProxies) return false;
    const mapped = mappedIPv4(address);
    if (mapped !== undefined) return this.#proxies.check(mapped, "ipv4");
    return isIPv6(address) && this.#proxies.check(address, "ipv6");
  }
}

/** An IPv4 address, also one that is written as an IPv6 address. */
function mappedIPv4(address: string): string | undefined {
  if (isIPv4(address)) return address;
  const groups = isIPv6(address) ? ipv6Groups(address) : [];
  if (groups.length !== 8 || groups.slice(0, 5).some((group) => group !== 0)) return undefined;
  const [high = 0, low = 0] = groups.slice(6);
  if (groups[5] !== 0xffff) return undefined;
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

/** The name of an address's budget. One host has all addresses of an IPv6 network of 64 bits. */
export function addressKey(address: string): string {
  const ipv4 = mappedIPv4(address);
  if (ipv4 !== undefined) return ipv4;
  if (!isIPv6(address)) return address;
  const network = ipv6Groups(address).slice(0, 4);
  return `${network.map((group) => group.toString(16)).join(":")}::/64`;
}

/** The eight numbers of an IPv6 address. */
function ipv6Groups(address: string): number[] {
  // A dotted IPv4 address at the end has the length of two groups.
  const hexadecimal = address
    .replace(/%.*$/, "")
    .replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...parts: string[]) => {
      const [a = 0, b = 0, c = 0, d = 0] = parts.slice(0, 4).map(Number);
      return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
    });
  const [before = "", after] = hexadecimal.split("::");
  const numbers = (text: string) =>
    text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
  if (after === undefined) return numbers(before);
  const [head, tail] = [numbers(before), numbers(after)];
  return [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail];
}
