import { createHmac, randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SignedIds } from "../../../src/api/transactions/signed-ids.js";
import { timedId } from "../../../src/foundation/timed-id.js";

const seed = Number(process.env.TEST_SEED ?? Date.now() % 1_000_000);
const ids = new SignedIds(randomBytes(32));
/** Bytes of an id besides its properties. */
const AROUND = JSON.stringify([timedId(), ""]).length - 2;
const LIMIT = 1_000 - AROUND;

const size = (properties: Record<string, string>) => Buffer.byteLength(JSON.stringify(properties));
const word = fc.string({
  unit: fc.constantFrom("a", "/", "~", "?", "ü", "😀", "\ud800", "\0", '"'),
});
const properties = fc.dictionary(
  fc.oneof(word, fc.constant("__proto__")),
  fc.oneof(word, fc.string()),
  {
    noNullPrototype: true,
  },
);
const short = properties.filter((one) => size(one) <= LIMIT);
const sealed = (one: Record<string, string>): string => ids.sign(one) as string;

describe(`a signed transaction id (TEST_SEED=${seed})`, () => {
  it("contains its properties and its time", () => {
    fc.assert(
      fc.property(short, (one) => {
        const before = Date.now();
        const id = sealed(one);
        expect(id).toMatch(/^[\w-]{1,1355}$/);
        const opened = ids.verify(id);
        expect(Object.entries(opened?.properties ?? {})).toEqual(Object.entries(one));
        expect(opened?.createdMillis).toBeGreaterThanOrEqual(before);
        expect(opened?.createdMillis).toBeLessThanOrEqual(Date.now());
        expect(sealed(one), "another one for the same again").not.toBe(id);
      }),
      { seed, numRuns: 500 },
    );
  });

  it("is created only up to the maximum length", () => {
    const filled = (bytes: number) => ({ a: "x".repeat(bytes - size({ a: "" })) });
    const longest = sealed(filled(LIMIT));
    expect(longest).toHaveLength(1355);
    expect(ids.verify(longest)?.properties).toEqual(filled(LIMIT));
    expect(ids.sign(filled(LIMIT + 1))).toBeUndefined();
    expect(ids.sign({ a: "ü".repeat(LIMIT / 2) }), "in bytes").toBeUndefined();
  });

  it("has a documented form that other server versions can read", () => {
    const key = Buffer.alloc(32, 7);
    const text = JSON.stringify([timedId(), { a: "ü" }]);
    const mac = createHmac("sha256", key).update(text).digest().subarray(0, 16);
    const id = Buffer.concat([mac, Buffer.from(text)]).toString("base64url");
    expect(new SignedIds(key).verify(id)?.properties).toEqual({ a: "ü" });
    const own = Buffer.from(new SignedIds(key).sign({ a: "b" }) as string, "base64url");
    const said = createHmac("sha256", key).update(own.subarray(16)).digest();
    expect(own.subarray(0, 16)).toEqual(said.subarray(0, 16));
  });

  it("is invalid after any change of a character", () => {
    const character = fc.constantFrom(..."azAZ09-_+/=.%\n ü");
    fc.assert(
      fc.property(short, fc.nat(), character, (one, where, other) => {
        const id = sealed(one);
        const at = where % id.length;
        const [head, tail] = [id.slice(0, at), id.slice(at + 1)];
        if (other !== id[at]) expect(ids.verify(head + other + tail)).toBeUndefined();
        expect(ids.verify(head + tail)).toBeUndefined();
        expect(ids.verify(head + other + id.slice(at))).toBeUndefined();
        expect(ids.verify(id + other)).toBeUndefined();
      }),
      { seed, numRuns: 500 },
    );
  });

  it("is invalid under another key", () => {
    const others = new SignedIds(randomBytes(32));
    fc.assert(
      fc.property(short, (one) => {
        expect(others.verify(sealed(one))).toBeUndefined();
      }),
      { seed },
    );
  });

  it("cannot be forged", () => {
    const made = fc.oneof(
      fc.string(),
      fc.base64String(),
      fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString("base64url")),
      fc.constantFrom("", "A".repeat(21), "A".repeat(22), timedId(), "A".repeat(100_000)),
    );
    fc.assert(
      fc.property(made, (text) => {
        expect(ids.verify(text)).toBeUndefined();
      }),
      { seed, numRuns: 500 },
    );
  });
});
