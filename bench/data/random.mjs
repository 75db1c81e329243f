/**
 * A pseudorandom number generator with the same numbers for a seed on every machine. `sfc32` passes the usual
 * test suites and needs no multiplication.
 *
 * @param {number} seed any integer
 */
export function random(seed) {
  let a = seed | 0;
  let b = Math.floor(seed / 2 ** 32) | 0;
  let c = 0x9e3779b9 | 0;
  let counter = 1;

  function next() {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return sum >>> 0;
  }
  // Similar seeds diverge only after some steps.
  for (let i = 0; i < 15; i++) next();

  /** From 0, inclusive, to 1, exclusive. */
  const uniform = () => next() / 2 ** 32;

  return {
    uniform,
    /** @param {number} bound exclusive */
    below: (bound) => Math.floor(uniform() * bound),
    /** Mean 0, variance 1, at most 6: the sum of twelve numbers, which needs no logarithm. */
    normal() {
      let sum = -6;
      for (let i = 0; i < 4; i++) {
        const bits = next();
        // Three numbers of ten bits each, at the centers of their steps.
        sum += ((bits & 1023) + ((bits >>> 10) & 1023) + ((bits >>> 20) & 1023) + 1.5) / 1024;
      }
      return sum;
    },
  };
}
