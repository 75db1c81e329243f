import { describe, expect, it } from "vitest";
import { takeFlags } from "../../src/cli/take-flags.js";
import { ConfigError } from "../../src/config/option.js";

describe("takeFlags", () => {
  it("separates flags, lists and the other arguments", () => {
    const args = ["root", "--url", "u", "--param=1=2", "--port", "1", "--param", "--url"];
    expect(takeFlags(args, ["--url", "--rows"], ["--param"])).toEqual({
      flags: { "--url": "u" },
      lists: { "--param": ["1=2", "--url"] },
      rest: ["root", "--port", "1"],
    });
  });

  it("does not take a flag for another one that it begins", () => {
    expect(takeFlags(["--urls", "u"], ["--url"]).rest).toEqual(["--urls", "u"]);
  });

  it.each([
    [["--url"], "--url needs a value"],
    [["--url", "a", "--url=b"], "--url is given twice: give it once"],
  ])("refuses %j", (args, message) => {
    expect(() => takeFlags(args, ["--url"])).toThrow(new ConfigError(message));
  });
});
