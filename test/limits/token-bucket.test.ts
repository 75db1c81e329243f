import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Rate } from "../../src/limits/limit-rules.js";
import {
  chargeTokens,
  takeTokens,
  type Word,
  waitForToken,
} from "../../src/limits/token-bucket.js";

const SECOND = 1_000_000_000n;

const newBucket = (): Word => ({
  words: new BigInt64Array(new SharedArrayBuffer(8)),
  index: 0,
});

/** A bucket that counts its tokens, in units of 1/nanosPerToken. */
class CountingBucket {
  #level: bigint;
  #at = 0n;

  constructor(
    private readonly burst: bigint,
    private readonly nanosPerToken: bigint,
  ) {
    this.#level = burst * nanosPerToken;
  }

  #refill(now: bigint): void {
    const most = this.burst * this.nanosPerToken;
    const level = this.#level + (now - this.#at);
    this.#level = level < most ? level : most;
    this.#at = now;
  }

  /** Returns the time until it has the tokens. */
  take(tokens: bigint, now: bigint): bigint {
    this.#refill(now);
    const missing = tokens * this.nanosPerToken - this.#level;
    if (missing > 0n) return missing;
    this.#level -= tokens * this.nanosPerToken;
    return 0n;
  }

  charge(tokens: bigint, now: bigint): void {
    this.#refill(now);
    this.#level -= tokens * this.nanosPerToken;
  }
}

/** Rates whose tokens take a whole number of ns. */
const rates = fc.record({
  perSecond: fc.constantFrom(1, 2, 4, 5, 10, 100, 1_000, 1_000_000),
  burst: fc.integer({ min: 1, max: 50 }),
});

const steps = fc.array(
  fc.record({
    pause: fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: 3n * SECOND })),
    tokens: fc.integer({ min: 1, max: 60 }),
    kind: fc.constantFrom("take", "charge", "wait"),
  }),
  { maxLength: 60 },
);

describe("a token bucket", () => {
  it("decides as a bucket that counts tokens, and reports the time until it would admit", () => {
    fc.assert(
      fc.property(rates, steps, (rate, all) => {
        const bucket = newBucket();
        const model = new CountingBucket(BigInt(rate.burst), SECOND / BigInt(rate.perSecond));
        let now = 5n * SECOND;
        for (const { pause, tokens, kind } of all) {
          now += pause;
          if (kind === "charge") {
            chargeTokens(bucket, rate, tokens, now);
            model.charge(BigInt(tokens), now);
          } else if (kind === "take") {
            const wait = takeTokens(bucket, rate, tokens, now);
            expect(wait).toBe(model.take(BigInt(tokens), now));
          } else {
            const wait = waitForToken(bucket, rate, now);
            // Taking the token and giving it back leaves the model as it was.
            expect(wait).toBe(model.take(1n, now));
            if (wait === 0n) model.charge(-1n, now);
          }
        }
      }),
    );
  });

  it("never admits more than its burst and its rate allow", () => {
    const anyRate = fc.record({
      perSecond: fc.double({ min: 1e-3, max: 1e9, noNaN: true }),
      burst: fc.integer({ min: 1, max: 1_000 }),
    });
    const pauses = fc.array(fc.bigInt({ min: 0n, max: SECOND }), { maxLength: 200 });
    fc.assert(
      fc.property(anyRate, pauses, (rate, all) => {
        const bucket = newBucket();
        const began = 7n * SECOND;
        let now = began;
        let admitted = 0;
        for (const pause of all) {
          now += pause;
          if (takeTokens(bucket, rate, 1, now) === 0n) admitted += 1;
          const seconds = Number(now - began) / Number(SECOND);
          // A token's time is rounded to whole ns.
          const most = rate.burst + seconds * rate.perSecond * 2 + 1e-6;
          expect(admitted).toBeLessThanOrEqual(Math.ceil(most));
        }
      }),
    );
  });

  it("admits exactly after the time that a refusal reports", () => {
    fc.assert(
      fc.property(rates, fc.integer({ min: 1, max: 50 }), (rate, tokens) => {
        fc.pre(tokens <= rate.burst);
        const bucket = newBucket();
        chargeTokens(bucket, rate, rate.burst * 3, SECOND);
        const wait = takeTokens(bucket, rate, tokens, SECOND);
        expect(wait).toBeGreaterThan(0n);
        expect(takeTokens(bucket, rate, tokens, SECOND + wait - 1n)).toBe(1n);
        expect(takeTokens(bucket, rate, tokens, SECOND + wait)).toBe(0n);
      }),
    );
  });

  it("does not overflow with the lowest rate and the largest charge", () => {
    const bucket = newBucket();
    const rate: Rate = { perSecond: 1e-6, burst: 1e15 };
    for (let n = 0; n < 10; n++) chargeTokens(bucket, rate, 1e15, SECOND);
    expect(Atomics.load(bucket.words, 0)).toBeGreaterThan(0n);
    expect(waitForToken(bucket, { perSecond: 1, burst: 1 }, SECOND)).toBeGreaterThan(0n);
  });
});
