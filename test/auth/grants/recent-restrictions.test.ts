/** Requests that equal an earlier one are not checked again until the catalog changes. */
import { setTimeout as sleep } from "node:timers/promises";
import { Type } from "@sinclair/typebox";
import { beforeEach, expect, it, onTestFinished } from "vitest";
import { accessTo } from "../../../src/api/access.js";
import { type Call, type Operation, operation } from "../../../src/api/operation.js";
import type { Services } from "../../../src/api/services.js";
import type { Identity } from "../../../src/auth/authenticator.js";
import { authorize } from "../../../src/auth/permission.js";
import { namespaceObject } from "../../../src/catalog/grants/grants.js";
import type { Privilege } from "../../../src/catalog/grants/privileges.js";
import { type OpenCatalog, openCatalog } from "../../../src/server/open-catalog.js";
import { createLogger } from "../../../src/telemetry/logger.js";
import { tempDir } from "../../harness/temp.js";

const SUBJECT = "user:https://issuer#a";
const NAMESPACE = namespaceObject(["a"]);
const call = { id: ["a", "t"] } as unknown as Call<unknown, unknown>;
const newCaller = (): Identity => ({ id: SUBJECT, name: "a", role: "none", groups: [] });

const operationWith = (privilege: Privilege): Operation =>
  operation({
    id: `Needs ${privilege}`,
    methods: ["POST"],
    path: "/v1/table/{id}/test",
    summary: "",
    tag: "Test",
    params: Type.Object({}),
    body: { kind: "json", schema: Type.Object({}) },
    access: accessTo("table", privilege),
    uses: [],
    handle: () => ({ kind: "empty" }),
  });
const read = operationWith("select");

/** A catalog as the process of a server has it, and as another process has it. */
let store: OpenCatalog;
let other: OpenCatalog;
beforeEach(async () => {
  const root = tempDir("recent-restrictions");
  const options = { root, url: `${root}/c.db`, log: createLogger("silent"), role: "tool" } as const;
  store = await openCatalog(options);
  other = await openCatalog(options);
  onTestFinished(async () => {
    await store.close();
    await other.close();
  });
  await store.catalog.createNamespace(["a"], "create", {});
  await store.grants.grant(SUBJECT, NAMESPACE, ["select"]);
});

/** The services of a server, and how often its grants were looked up. */
function setupServices(version: () => number | undefined = () => store.grants.version()) {
  let lookups = 0;
  const { catalog } = store;
  const grants: Pick<Services["grants"], "version" | "heldSync"> = {
    version,
    heldSync: (subjects) => {
      lookups++;
      return store.grants.heldSync(subjects);
    },
  };
  return { services: { catalog, grants } as unknown as Services, lookups: () => lookups };
}

it("the grants of equal requests are looked up once for each state of the catalog", async () => {
  const { services, lookups } = setupServices();
  const caller = newCaller();
  const visible = authorize(read, caller, call, services);
  for (let request = 0; request < 5; request++) {
    expect(authorize(read, caller, call, services)).toBe(visible);
  }
  expect(lookups()).toBe(1);
  await store.catalog.createNamespace(["b"], "create", {});
  authorize(read, caller, call, services);
  expect(lookups()).toBe(2);
});

it("other callers, operations, objects and services are checked for themselves", async () => {
  const { services, lookups } = setupServices();
  const caller = newCaller();
  authorize(read, caller, call, services);
  await expect(authorize(read, { ...caller, id: "user:x#y" }, call, services)).rejects.toThrow();
  await expect(authorize(operationWith("insert"), caller, call, services)).rejects.toThrow(
    /insert/,
  );
  authorize(read, caller, { ...call, id: ["a", "u"] }, services);
  await expect(authorize(read, caller, { ...call, id: ["b", "t"] }, services)).rejects.toThrow();
  authorize(read, caller, call, { ...services });
  expect(lookups()).toBe(6);
});

it("a revocation takes effect at once, and that of another process within milliseconds", async () => {
  const { services } = setupServices();
  const caller = newCaller();
  authorize(read, caller, call, services);
  await store.grants.revoke(SUBJECT, NAMESPACE, ["select"]);
  await expect(authorize(read, caller, call, services)).rejects.toThrow(/does not exist/);
  await store.grants.grant(SUBJECT, NAMESPACE, ["select"]);
  authorize(read, caller, call, services);
  await other.grants.revoke(SUBJECT, NAMESPACE, ["select"]);
  await sleep(5);
  await expect(authorize(read, caller, call, services)).rejects.toThrow(/does not exist/);
});

it("without a version of the catalog, each request looks its grants up", () => {
  const { services, lookups } = setupServices(() => undefined);
  const caller = newCaller();
  const visible = authorize(read, caller, call, services);
  expect(authorize(read, caller, call, services)).toBe(visible);
  expect(lookups()).toBe(2);
});
