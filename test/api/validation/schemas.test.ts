import { expect, it } from "vitest";
import type { Operation } from "../../../src/api/operation.js";
import { bodyCheckOf } from "../../../src/api/validation/body-check.js";
import { ParamReader } from "../../../src/api/validation/params.js";
import { JoustError } from "../../../src/foundation/errors.js";
import { operations } from "../../../src/operations/index.js";

const validators: [string, () => void][] = operations.flatMap((operation: Operation) => {
  const { id, params } = operation;
  const ofParams: [string, () => void] = [
    `the parameters of ${id}`,
    () => new ParamReader(params).read({}),
  ];
  const check = bodyCheckOf(operation);
  return check ? [ofParams, [`the body of ${id}`, () => check.validate({})]] : [ofParams];
});

// The server compiles a schema at its first use, so its start does not find one that does not compile.
it.each(validators)("the schema of %s compiles", (_, validate) => {
  try {
    validate();
  } catch (error) {
    expect(error).toBeInstanceOf(JoustError);
  }
});
