import { expect } from "vitest";
import type { Answer } from "./client.js";

/** Checks that an answer is the one error body, with that status and code, and tells no secrets. */
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
  // Neither places on the server's disk nor traces of its code.
  expect(problem.detail).not.toMatch(/\/tmp\/|\.rs\b|\.[jt]s:\d|\bat \w+ \(/);
}
