import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Type } from "@sinclair/typebox";
import { describe, expect, it } from "vitest";
import { accessTo } from "../../src/api/access.js";
import { operation, type Reply, type ServiceName } from "../../src/api/operation.js";
import type { Services } from "../../src/api/services.js";
import { operations } from "../../src/operations/index.js";

const names: Record<ServiceName, true> = {
  config: true,
  engine: true,
  catalog: true,
  grants: true,
  jobs: true,
  workerCalls: true,
  transactions: true,
  multipart: true,
  idempotency: true,
  maintenance: true,
  prewarming: true,
  threads: true,
  limits: true,
  requests: true,
  flightCalls: true,
  log: true,
  audit: true,
};

/** A service whose members all fail when they are called. */
const failing = new Proxy(
  {},
  {
    get: (_, member) => () => {
      throw new Error(`${String(member)} was called`);
    },
  },
);

/** Services that record which of them a handler reads. */
function recordingServices() {
  const read = new Set<string>();
  const services = new Proxy({} as Services, {
    get(_, name: string) {
      read.add(name);
      return failing;
    },
  });
  return { services, read };
}

const call = {
  dialect: "namespace",
  requestId: "r",
  callerId: "c",
  id: ["n", "t"],
  database: [],
  path: {},
  params: {},
  payload: {},
  context: {},
  fresh: {},
  attempt: undefined,
  timeLeftMs: undefined,
  header: () => "",
  onAbort: () => {},
  authorize: () => Promise.reject(new Error("no operation runs another one here")),
} as const;

describe("`uses` of an operation", () => {
  it.each(operations.map((one) => [one.id, one] as const))(
    "%s names known services, each once",
    (_, one) => {
      const { uses } = one;
      expect(uses.filter((name) => !Object.hasOwn(names, name))).toEqual([]);
      expect(new Set(uses).size).toBe(uses.length);
    },
  );

  it.each(operations.map((one) => [one.id, one] as const))(
    "%s reads no service that it does not name",
    async (_, one) => {
      const { services, read } = recordingServices();
      const outcome = async () => one.handle(services, call);
      await outcome().catch(() => {});
      const includes = async () => one.administrative?.includes(call, services);
      await includes().catch(() => {});
      const also = async () => one.access.also?.(call, services);
      await also().catch(() => {});
      expect([...read].filter((name) => !one.uses.includes(name as ServiceName))).toEqual([]);
    },
  );

  it("limits the static type of the services that the handler sees", () => {
    const declared = operation({
      id: "Declared",
      methods: ["GET"],
      path: "/declared",
      summary: "Use a service that is not declared",
      tag: "Test",
      params: Type.Object({}),
      body: { kind: "none" },
      access: accessTo("nothing"),
      administrative: {
        to: "use the engine",
        // @ts-expect-error: `engine` is not in `uses`
        includes: (_, { catalog, engine }) => catalog === engine,
      },
      uses: ["catalog"],
      // @ts-expect-error: `engine` is not in `uses`
      handle: ({ catalog, engine }): Reply => ({ kind: "json", value: [catalog, engine] }),
    });
    expect(declared.uses).toEqual(["catalog"]);
  });
});

describe("the sources of the operations", () => {
  const folder = fileURLToPath(new URL("../../src/operations", import.meta.url));
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => ({ file, text: readFileSync(`${folder}/${file}`, "utf8") }));
  const kebab = (id: string) =>
    id.replace(/[A-Z]/g, (letter, at) => `${at > 0 ? "-" : ""}${letter.toLowerCase()}`);

  it("declare one operation in each file and name the file after it", () => {
    const declaring = files.filter(({ text }) => text.includes("operation({"));
    // `unserved.ts` generates its operations from a table of routes.
    const named = declaring.filter(({ file }) => file !== "server/unserved.ts");
    for (const { file, text } of named) {
      const ids = [...text.matchAll(/^ +id: "(\w+)",$/gm)].map((match) => match[1] as string);
      expect(ids.map((id) => `${kebab(id)}.ts`)).toEqual([file.replace(/^.*\//, "")]);
    }
    expect(named.length).toBeGreaterThan(60);
  });

  it("take a `Pick` of the services, never all of them", () => {
    const naming = files.filter(({ text }) =>
      /\bServices\b/.test(text.replace(/^import .*$/gm, "").replace(/\bPick<\s*Services\b/g, "")),
    );
    expect(naming.map(({ file }) => file)).toEqual([]);
  });
});
