import { expect } from "vitest";
import type { Answer } from "./client.js";

/** Checks that a response is an error with this status and code in the documented form without internals. */
export function expectFailure(answer: Answer, status: number, code: number, detail?: RegExp): void {
  expect({ status: answer.status, body: answer.text }).toMatchObject({ status });
  const problem = answer.json;
  expect(problem).toEqual({
    type: expect.stringMatching(/^urn:joust:error:[a-z-]+$/),
    title: expect.stringMatching(/\w/),
    status,
    detail: expect.stringMatching(detail ?? /\w/),
    instance: expect.stringMatching(/^\//),
    error: expect.stringMatching(/\w/),
    code,
  });
  // Neither paths on the server's disk nor source locations.
  expect(problem.detail).not.toMatch(/\/tmp\/|\.rs\b|\.[jt]s:\d|\bat \w+ \(/);
}
