import { beforeAll, describe, expect, it } from "vitest";
import { stream, type } from "../../../harness/arrow.js";
import { expectFailure } from "../../../harness/expect-failure.js";
import { setupServer } from "../../../harness/setup-server.js";
import { structured, textIndex, words } from "./text-tables.js";

const joust = setupServer();

beforeAll(async () => {
  const { client } = joust;
  await client.createTable(
    "t",
    stream({
      id: [type.i64, [1n, 2n]],
      title: [type.text, ["Running <fast> & far", "no match here"]],
      tags: [type.texts, [["runs", "walks", "a run"], ["sleeps"]]],
    }),
  );
  await textIndex(client, "t", { column: "title", with_position: true });
  await textIndex(client, "t", { column: "tags" });
});

const highlights = async (query: object, highlight: object) => {
  const result = await joust.client.query("t", { vector: {}, ...query, highlight });
  expect(result.schema.fields.at(-1)?.name).toBe("_highlights");
  return JSON.parse(JSON.stringify(result.toArray()[0]._highlights));
};

describe("highlights", () => {
  it("mark words by their stem and escape HTML", async () => {
    expect(await highlights(words("run"), {})).toEqual({
      title: ["<em>Running</em> &lt;fast&gt; &amp; far"],
      tags: ["<em>runs</em>", "a <em>run</em>"],
    });
  });

  it("have the requested columns, tags and count", async () => {
    const style = { columns: ["tags"], pre_tag: "[", post_tag: "]", fragments: 1, max_chars: 10 };
    expect(await highlights(words("run"), style)).toEqual({ tags: ["[runs]"] });
  });

  it("mark fuzzy matches and phrases", async () => {
    const fuzzy = structured({ match: { column: "title", terms: "runing", fuzziness: 2 } });
    expect((await highlights(fuzzy, {})).title[0]).toMatch(/^<em>Running<\/em>/);
    const phrase = structured({ phrase: { column: "title", terms: "running fast" } });
    expect((await highlights(phrase, {})).title[0]).toMatch(
      /^<em>Running<\/em> &lt;<em>fast<\/em>/,
    );
  });

  it("mark words of columns that are searched as one", async () => {
    const combined = { query: "run fast", columns: ["title", "tags"], operator: "And" };
    expect(await highlights(structured({ combined_fields: combined }), {})).toEqual({
      title: ["<em>Running</em> &lt;<em>fast</em>&gt; &amp; far"],
      tags: ["<em>runs</em>", "a <em>run</em>"],
    });
  });

  it.each<[string, object, RegExp]>([
    ["a column that is not searched", { columns: ["id"] }, /`id`/],
    ["no passages", { fragments: 0 }, /fragments/],
    ["passages of zero length", { max_chars: 0 }, /max_chars/],
    ["a tag that is too long", { pre_tag: "x".repeat(200) }, /pre_tag/],
  ])("are rejected for %s", async (_, highlight, detail) => {
    const body = { k: 1, vector: {}, ...words("run"), highlight };
    expectFailure(await joust.client.post("/v1/table/t/query", body), 400, 13, detail);
  });
});
