import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type InFlightEntry,
  InFlightSet,
  notInFlight,
} from "../../src/foundation/in-flight-set.js";

const members = (): InFlightEntry[] => Array.from({ length: 8 }, () => ({ position: notInFlight }));

test("InFlight has the same members as a Set after any additions and removals", () => {
  const step = fc.record({ joins: fc.boolean(), who: fc.nat(7) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const all = members();
      const inFlight = new InFlightSet<InFlightEntry>();
      const oracle = new Set<InFlightEntry>();
      for (const { joins, who } of steps) {
        const member = all[who] as InFlightEntry;
        inFlight[joins ? "add" : "delete"](member);
        oracle[joins ? "add" : "delete"](member);
        expect(inFlight.size).toBe(oracle.size);
        expect(new Set(inFlight.all())).toEqual(oracle);
        for (const one of all) expect(one.position !== notInFlight).toBe(oracle.has(one));
      }
    }),
  );
});

test("InFlightSet allows the removal of every member during iteration", () => {
  const inFlight = new InFlightSet<InFlightEntry>();
  const all = members();
  for (const member of all) inFlight.add(member);
  for (const member of inFlight.all()) inFlight.delete(member);
  expect(inFlight.size).toBe(0);
  expect(all.every(({ position }) => position === notInFlight)).toBe(true);
});
