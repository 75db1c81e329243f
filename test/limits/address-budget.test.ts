import { describe, expect, it } from "vitest";
import { AddressBudget, addressKey } from "../../src/limits/address-budget.js";
import { LimitSlots } from "../../src/limits/limit-slots.js";

const SECOND = 1_000_000_000n;
const rate = (burst: number) => ({ perSecond: 1, burst });

function newBudget(perAddress: number, total: number, trustedProxies: string[] = []) {
  const rules = { perAddress: rate(perAddress), total: rate(total), trustedProxies };
  return new AddressBudget(rules, new LimitSlots(LimitSlots.allocate(1_024), "seed"));
}

/** How many of some requests are admitted. */
function admitted(budget: AddressBudget, requests: readonly (readonly [string, string])[]): number {
  return requests.filter(([remote, forwarded]) => {
    try {
      budget.check(remote, forwarded, SECOND);
      budget.take(remote, forwarded, SECOND);
      return true;
    } catch {
      return false;
    }
  }).length;
}

const times = (count: number, remote: (n: number) => string, forwarded = "") =>
  Array.from({ length: count }, (_, n) => [remote(n), forwarded] as const);

describe("the budget of unauthenticated requests", () => {
  it("is separate for each address", () => {
    const budget = newBudget(3, 100);
    expect(
      admitted(
        budget,
        times(10, () => "192.0.2.1"),
      ),
    ).toBe(3);
    expect(
      admitted(
        budget,
        times(10, () => "192.0.2.2"),
      ),
    ).toBe(3);
  });

  it("is limited for all addresses together", () => {
    expect(
      admitted(
        newBudget(3, 20),
        times(100, (n) => `192.0.2.${n}`),
      ),
    ).toBe(20);
  });

  it("is not used up for others by one address", () => {
    const budget = newBudget(3, 10);
    expect(
      admitted(
        budget,
        times(100, () => "192.0.2.1"),
      ),
    ).toBe(3);
    expect(
      admitted(
        budget,
        times(7, (n) => `192.0.2.${2 + n}`),
      ),
    ).toBe(7);
  });

  it("reads the client's address from trusted proxies only", () => {
    const proxied = (client: string) => times(5, () => "10.1.2.3", `203.0.113.9, ${client}`);
    const trusting = newBudget(2, 100, ["10.0.0.0/8"]);
    expect(admitted(trusting, proxied("192.0.2.1"))).toBe(2);
    expect(admitted(trusting, proxied("192.0.2.2"))).toBe(2);
    const other = newBudget(2, 100, ["172.16.0.0/12"]);
    expect(admitted(other, [...proxied("192.0.2.1"), ...proxied("192.0.2.2")])).toBe(2);
  });

  it("ignores what a client claims in front of the last proxy", () => {
    const budget = newBudget(2, 100, ["10.0.0.0/8", "fd00::1"]);
    const claims = ["1.1.1.1", "2.2.2.2", "nonsense", ""].map(
      (claim) => ["::ffff:10.1.2.3", `${claim}, 192.0.2.1, 10.9.9.9`] as const,
    );
    expect(admitted(budget, claims)).toBe(2);
    const garbled = times(5, () => "fd00::1", "unknown");
    expect(admitted(budget, garbled)).toBe(2);
  });
});

describe("the name of an address's budget", () => {
  it.each([
    ["192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["0000:0000:0000:0000:0000:ffff:c000:0201", "192.0.2.1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:0db8:0001:0002:ffff:0000:0000:0001", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["64:ff9b::192.0.2.1", "64:ff9b:0:0::/64"],
    ["", ""],
  ])("of %s is %s", (address, key) => {
    expect(addressKey(address)).toBe(key);
  });
});
