import { describe, expect, it } from "vitest";
import { parseChoice } from "../../../src/api/validation/choice.js";
import { JoustError } from "../../../src/foundation/errors.js";

describe("an option that is one of a list of words", () => {
  it.each(["exist_ok", "ExistOk", "EXIST_OK", "existok", "Exist_Ok", '"ExistOk"'])(
    "accepts the spelling %s",
    (word) => {
      expect(parseChoice("mode", word, ["create", "exist_ok"])).toBe("exist_ok");
    },
  );

  it.each(["", "exist", "exist ok", "creat", "cre\u0131te", "__proto__", '"exist_ok', '""'])(
    "rejects %j",
    (word) => {
      expect(() => parseChoice("mode", word, ["create", "exist_ok"])).toThrow(JoustError);
      expect(() => parseChoice("mode", word, ["create", "exist_ok"])).toThrow(
        /use one of create, exist_ok/,
      );
    },
  );
});
