import { describe, expect, it } from "vitest";
import { parseLimits } from "../../src/limits/limit-file.js";
import { limitsOfCaller, limitsOfNamespace } from "../../src/limits/limit-rules.js";

const parse = (text: string) => parseLimits(text, "limits.yaml");
const key = { id: "k1", name: "dashboard", role: "read" };

describe("a limits file", () => {
  it("may be YAML or JSON, and may be empty", () => {
    const yaml = parse("keys:\n  dashboard: { requests_per_second: 5, burst: 7 }\n");
    const json = parse('{"keys": {"dashboard": {"requests_per_second": 5, "burst": 7}}}');
    expect(yaml).toEqual(json);
    expect(limitsOfCaller(yaml, key)).toEqual({ requests: { perSecond: 5, burst: 7 } });
    expect(limitsOfCaller(parse(""), key)).toEqual({});
  });

  it.each<[string, string]>([
    ["keys: [", "limits.yaml is neither YAML nor JSON"],
    ["- 1", "limits.yaml must be an object, got [1]"],
    ["key: {}", "limits.yaml has the member key; members are defaults, keys, users"],
    ["keys: 7", "keys in limits.yaml must be an object, got 7"],
    ["keys: {a: 7}", "keys.a in limits.yaml must be an object, got 7"],
    [
      "keys: {a: {rps: 7}}",
      "keys.a in limits.yaml has the member rps; members are requests_per_sec",
    ],
    ["keys: {a: {rows: -7}}", "keys.a.rows in limits.yaml must be an integer of at least 0"],
    ["defaults: {caller: {bytes: many}}", "defaults.caller.bytes in limits.yaml must be a size"],
    ["unauthenticated: {rows: 1}", "unauthenticated in limits.yaml has the member rows"],
    [
      "defaults: {keys: {}}",
      "defaults in limits.yaml has the member keys; members are caller, name",
    ],
    [
      "keys: {a: {requests_per_second: -1}}",
      "keys.a.requests_per_second in limits.yaml must be a number of at least 0.000001, or null",
    ],
    ["keys: {a: {requests_per_second: fast}}", 'or null for no limit, got "fast"'],
    ["keys: {a: {burst: 3}}", "keys.a.burst in limits.yaml needs requests_per_second beside it"],
    ["keys: {a: {requests_per_second: 1, burst: 0}}", "must be an integer of at least 1"],
    ["keys: {a: {upload_burst_bytes: 3}}", "needs upload_bytes_per_second beside it"],
    ["keys: {a: {jobs: 1.5}}", "keys.a.jobs in limits.yaml must be an integer of at least 0"],
    ["namespaces: {a: {bytes: many}}", "namespaces.a.bytes in limits.yaml must be a size such as"],
    ["unauthenticated: {requests_per_second: null}", "must be a number, got null"],
    ["unauthenticated: {jobs: 1}", "unauthenticated in limits.yaml has the member jobs"],
    [
      "unauthenticated: {trusted_proxies: [10.0.0.0/99]}",
      "unauthenticated.trusted_proxies in limits.yaml must be a list of addresses and CIDR blocks",
    ],
  ])("is refused with what would be right: %s", (text, reason) => {
    expect(() => parse(text)).toThrow(reason);
  });
});

describe("the limits of a caller", () => {
  const rules = parse(`
    defaults:
      caller: { requests_per_second: 10, burst: 100, concurrent_queries: 4, jobs: 2 }
    roles:
      admin: { jobs: null }
      read: { jobs: 0 }
    groups:
      analysts: { concurrent_queries: 8, upload_bytes_per_second: 1MiB }
      robots: { concurrent_queries: 2, upload_bytes_per_second: null }
    keys:
      dashboard: { requests_per_second: 1 }
      k2: { concurrent_queries: null }
    users:
      https://issuer#42: { jobs: 9 }
  `);

  it("are those of its key, else of its role, else the defaults, for each limit by itself", () => {
    expect(limitsOfCaller(rules, key)).toEqual({
      requests: { perSecond: 1, burst: 1 },
      concurrentQueries: 4,
      jobs: 0,
    });
  });

  it("are found by the id of a key too, and null lifts a limit", () => {
    expect(limitsOfCaller(rules, { id: "k2", name: "other", role: "admin" })).toEqual({
      requests: { perSecond: 10, burst: 100 },
    });
  });

  it("are the largest of several groups", () => {
    const inGroups = (...groups: string[]) =>
      limitsOfCaller(rules, { id: "k3", name: "other", role: "write", groups });
    expect(inGroups("analysts")).toMatchObject({
      concurrentQueries: 8,
      uploadBytes: { perSecond: 2 ** 20, burst: 10 * 2 ** 20 },
    });
    expect(inGroups("robots", "analysts").concurrentQueries).toBe(8);
    expect(inGroups("robots", "analysts").uploadBytes).toBeUndefined();
    expect(inGroups("strangers")).toMatchObject({ concurrentQueries: 4 });
  });

  it("have rows and bytes, by the same order of entries", () => {
    const stored = parse(`
      defaults: { caller: { rows: 100, bytes: 1GiB } }
      roles: { admin: { rows: null } }
      groups: { big: { rows: 500 }, bigger: { rows: 900, bytes: null } }
      keys: { k1: { rows: 200 }, dashboard: { rows: 150, bytes: 2GiB } }
      users: { "https://issuer#42": { rows: 300 } }
    `);
    const caller = (more: object) =>
      limitsOfCaller(stored, { id: "k9", name: "other", role: "read", ...more });
    const gib = 2 ** 30;
    expect(caller({})).toEqual({ rows: 100, bytes: gib });
    expect(caller({ role: "admin" })).toEqual({ bytes: gib });
    expect(caller(key)).toEqual({ rows: 200, bytes: 2 * gib });
    expect(caller({ role: "admin", groups: ["big", "bigger"] })).toEqual({ rows: 900 });
    const user = { id: "user:https://issuer#42", groups: ["big"] };
    expect(caller(user)).toEqual({ rows: 300, bytes: gib });
  });

  it("name a user by issuer and subject, and never a key", () => {
    const id = "user:https://issuer#42";
    expect(limitsOfCaller(rules, { id, name: "a@b.c", role: "write" }).jobs).toBe(9);
    expect(
      limitsOfCaller(rules, { id, name: "dashboard", role: "write" }).requests?.perSecond,
    ).toBe(10);
  });

  it("ignore members that every object inherits", () => {
    const named = { id: "constructor", name: "__proto__", role: "toString", groups: ["valueOf"] };
    expect(limitsOfCaller(rules, named).jobs).toBe(2);
  });
});

describe("the limits of a namespace", () => {
  const rules = parse(`
    defaults: { namespace: { rows: 100 } }
    namespaces:
      $: { concurrent_queries: 50 }
      team$search: { bytes: 10GiB, rows: null }
  `);

  it("are those of its path over the defaults, which do not hold for the root", () => {
    expect(limitsOfNamespace(rules, [])).toEqual({ concurrentQueries: 50 });
    expect(limitsOfNamespace(rules, ["team"])).toEqual({ rows: 100 });
    expect(limitsOfNamespace(rules, ["team", "search"])).toEqual({ bytes: 10 * 2 ** 30 });
  });
});
