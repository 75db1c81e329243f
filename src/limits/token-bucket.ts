/**
 * Token buckets in shared memory. A bucket is one 64-bit word: the time at which it will be full again, ns. Until
 * then it lacks `(time - now) * rate` tokens (the generic cell rate algorithm). So all threads change it with one
 * compare-and-exchange, and an idle bucket needs no refill.
 */
import type { Rate } from "./limit-rules.js";

const NANOS = 1e9;

/** The longest time that a bucket may need to fill, ns: 30 years. Sums of it fit a 64-bit word. */
const LONGEST = 30n * 365n * 86_400n * 1_000_000_000n;

/** ns of a clock that all threads of the process share. */
export const limitClock = (): bigint => process.hrtime.bigint();

/** A 64-bit word that several threads change. */
export interface Word {
  readonly words: BigInt64Array;
  readonly index: number;
}

/** The time that a bucket needs to gain `tokens`, ns. */
function fillTime({ perSecond }: Rate, tokens: number): bigint {
  const nanos = (tokens * NANOS) / perSecond;
  return nanos < Number(LONGEST) ? BigInt(Math.round(nanos)) : LONGEST;
}

/**
 * Takes tokens if the bucket has them. Returns 0, or how long the caller has to wait for them, ns. A refusal changes
 * nothing. `now`: ns of a clock that all threads share.
 */
export function takeTokens(
  { words, index }: Word,
  rate: Rate,
  tokens: number,
  now: bigint,
): bigint {
  const capacity = fillTime(rate, rate.burst);
  const cost = fillTime(rate, tokens);
  for (;;) {
    const full = Atomics.load(words, index);
    const next = (full > now ? full : now) + cost;
    const missing = next - now - capacity;
    if (missing > 0n) return missing;
    if (Atomics.compareExchange(words, index, full, next) === full) return 0n;
  }
}

/** Takes tokens that are used already: the bucket may owe them afterwards. */
export function chargeTokens(
  { words, index }: Word,
  rate: Rate,
  tokens: number,
  now: bigint,
): void {
  const cost = fillTime(rate, tokens);
  for (;;) {
    const full = Atomics.load(words, index);
    const next = (full > now ? full : now) + cost;
    const bounded = next - now > LONGEST ? now + LONGEST : next;
    if (Atomics.compareExchange(words, index, full, bounded) === full) return;
  }
}

/** How long the caller has to wait until the bucket has at least one token, ns; 0 if it has one. */
export function waitForToken({ words, index }: Word, rate: Rate, now: bigint): bigint {
  const missing = Atomics.load(words, index) - now + fillTime(rate, 1) - fillTime(rate, rate.burst);
  return missing > 0n ? missing : 0n;
}
