import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { contract } from "../../../src/operations/index.js";
import type { Json } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";
import type { Listing } from "./listing.js";
import { listings } from "./listings.js";

// Maintenance would queue jobs during the paging.
const joust = setupServer({ args: ["--maintenance", "off"] });
const seed = Number(process.env.TEST_SEED ?? Date.now() % 1_000_000);

/** Changes between two pages: `come` items are added and the `go` oldest temporary ones are removed. */
interface Step {
  limit: number;
  come: number;
  go: number;
}

const steps = fc.array(
  fc.record({ limit: fc.integer({ min: 1, max: 4 }), come: fc.nat(2), go: fc.nat(2) }),
  { minLength: 1, maxLength: 6 },
);

const page = (listing: Listing, paging: object): Promise<Json> =>
  joust.client.ok(listing.path, { ...listing.body, ...paging });

/** Changes between the pages of a listing. */
const MOST_CHANGES = 10;

let next = 0;

/** Reads all pages while other clients change the listing between and during the pages. */
async function walk(listing: Listing, plan: readonly Step[]): Promise<string[][]> {
  const { client } = joust;
  const leaving: (() => Promise<unknown>)[] = [];
  const pages: string[][] = [];
  let token: string | undefined;
  for (let at = 0; at === 0 || token; at++) {
    const { limit, come, go } = plan[at % plan.length] as Step;
    const changes = [
      // A listing that grows faster than the paging never ends.
      ...Array.from({ length: at < MOST_CHANGES ? come : 0 }, () =>
        listing.add(client, next++).then((leave) => leave && leaving.push(leave)),
      ),
      ...leaving.splice(0, go).map((leave) => leave()),
    ];
    const reply = await page(listing, { limit, ...(token && { page_token: token }) });
    await Promise.all(changes);
    const items = listing.items(reply);
    expect(items.length).toBeLessThanOrEqual(limit);
    pages.push(items);
    token = reply.page_token;
    // Added items may cause more pages, but each page makes progress.
    expect(pages.length).toBeLessThan(500);
  }
  for (const leave of leaving) await leave();
  return pages;
}

describe.each(listings.map((listing) => [listing.name, listing] as const))(
  `the listing of %s (TEST_SEED=${seed})`,
  (_, listing) => {
    let permanentNames: string[];
    beforeAll(async () => {
      permanentNames = await listing.prepare(joust.client);
    }, 120_000);

    it("neither skips nor repeats an item that exists throughout and keeps its order during concurrent changes", async () => {
      await fc.assert(
        fc.asyncProperty(steps, async (plan) => {
          const listed = (await walk(listing, plan)).flat();
          expect(new Set(listed).size).toBe(listed.length);
          expect(listed).toEqual(expect.arrayContaining(permanentNames));
          for (const [at, item] of listed.entries()) {
            const before = listed[at - 1];
            if (before !== undefined)
              expect([before, item, listing.before(before, item)]).toEqual([before, item, true]);
          }
        }),
        { seed, numRuns: 8 },
      );
    }, 120_000);

    it("returns the same items for every page size", async () => {
      const whole = listing.items(await page(listing, {}));
      for (const limit of [1, 2, 3, whole.length, whole.length + 1, Number.MAX_SAFE_INTEGER]) {
        const pages = await walk(listing, [{ limit, come: 0, go: 0 }]);
        expect(pages.flat()).toEqual(whole);
        // The last page has no token, even if it is full.
        expect(pages.at(-1)?.length).toBeGreaterThan(0);
      }
    });

    it("rejects invalid limits", async () => {
      for (const limit of [0, -1, 1.5, "ten", 1e300]) {
        const answer = await joust.client.post(listing.path, { ...listing.body, limit });
        expectFailure(answer, 400, 13, /limit/);
      }
    });

    it("rejects forged page tokens", async () => {
      const { page_token } = await page(listing, { limit: 1 });
      const parts: string[] = JSON.parse(Buffer.from(page_token, "base64url").toString());
      const made = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
      const forged = [
        ...["x", "null", "💥", "../x", `${page_token}x`, page_token.slice(1), `${page_token}=`],
        ...[made(null), made([]), made({}), made(parts.slice(0, -1)), made([...parts, "x"])],
        made(["elsewhere", ...parts.slice(1)]),
        made([...parts.slice(0, -1), 1]),
      ];
      for (const token of forged) {
        const body = { ...listing.body, page_token: token };
        expectFailure(await joust.client.post(listing.path, body), 400, 13, /page_token/);
      }
    });

    it("rejects page tokens of other listings", async () => {
      for (const other of listings) {
        if (other === listing) continue;
        const reply = await joust.client.post(other.path, { ...other.body, limit: 1 });
        // The listings are prepared one after another.
        const token = reply.status === 200 && reply.json.page_token;
        if (!token) continue;
        const body = { ...listing.body, page_token: token };
        expectFailure(await joust.client.post(listing.path, body), 400, 13, /page_token/);
      }
    });
  },
);

it("the tested listings cover every paged operation", () => {
  const paged = contract.filter(({ body, params }) => {
    const members = { ...params.properties, ...("schema" in body ? body.schema.properties : {}) };
    return "page_token" in members;
  });
  const paths = listings.map(({ path }) => path.replace(/^(\/v1\/\w+\/)[^/]+\/(?=.)/, "$1{id}/"));
  const known = new Set(["/v1/table", "/v1/jobs/list", ...paths]);
  expect(paged.map(({ path }) => path).filter((path) => !known.has(path))).toEqual([]);
});
