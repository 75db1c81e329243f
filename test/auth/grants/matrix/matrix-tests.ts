import { expect, it } from "vitest";
import { requestsOf } from "./all-cases.js";
import type { Cases } from "./case.js";
import { Check } from "./check.js";
import { setupMatrix } from "./setup.js";

/** The tests of a part of the matrix, with a server of their own. */
export async function testMatrix(part: Cases, isLancedb: boolean): Promise<void> {
  const matrix = await setupMatrix();
  it.each(requestsOf(part, isLancedb))(
    "%s admits exactly the callers that may send it",
    async (_, operation, route, one) => {
      const outcomes = await new Check(matrix, operation, route, one).run();
      expect(outcomes).toContain("admitted");
      expect(outcomes).toContain("unauthenticated");
    },
  );
}
