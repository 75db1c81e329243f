import { describe, expect, it } from "vitest";
import { items } from "../harness/arrow.js";
import { createKey, runCli } from "../harness/cli.js";
import { setupServer } from "../harness/setup-server.js";

const joust = setupServer();
const run = (...args: string[]) => runCli([...args, joust.root]);

describe("joust grant, grants and revoke", () => {
  it("change what a key may do on a running server", async () => {
    await joust.client.createNamespace("sales");
    await joust.client.createTable("sales$t", items(3));
    const { key, id } = await createKey(joust.root, "none");
    const client = joust.client.withKey(key);
    const subject = `key:${id}`;
    const count = async () => (await client.post("/v1/table/sales%24t/count_rows")).status;
    const on = (object: string, flag: string) => ["--on", object, flag, subject];
    expect(await count()).toBe(404);

    const grant = ["grant", "insert,select", ...on("namespace:sales", "--to")];
    expect(await run(...grant)).toMatchObject({ code: 0, out: "granted select, insert\n" });
    expect(await run(...grant)).toMatchObject({ code: 0, out: "nothing to grant\n" });
    expect(await run("grant", "all", ...on("table:sales$t", "--to"))).toMatchObject({ code: 0 });
    expect(await count()).toBe(200);

    const all = "select,insert,update,delete,create,drop,manage,grant";
    const listed = await run("grants", "--subject", subject);
    expect(listed.out.trimEnd().split("\n").sort()).toEqual([
      `${subject}  namespace:sales  select,insert`,
      `${subject}  table:sales$t  ${all}`,
    ]);
    expect((await run("grants", "--on", "server")).out).toBe("");

    const revoke = ["revoke", "all", ...on("table:sales$t", "--from")];
    expect(await run(...revoke)).toMatchObject({ out: `revoked ${all.replaceAll(",", ", ")}\n` });
    expect(await run(...revoke)).toMatchObject({ code: 0, out: "nothing to revoke\n" });
    expect(await count()).toBe(200);
    await run("revoke", "select,insert", ...on("namespace:sales", "--from"));
    expect(await count()).toBe(404);
  });

  it.each([
    [["grant", "--on", "server"], /joust grant needs privileges/],
    [["grant", "select", "--on", "server"], /needs --on OBJECT and --to SUBJECT/],
    [["revoke", "select", "--from", "group:g"], /needs --on OBJECT and --from SUBJECT/],
    [["grant", "fly", "--on", "server", "--to", "group:g"], /"fly" is not a privilege: use all/],
    [
      ["grant", "select", "--on", "shelf", "--to", "group:g"],
      /--on must be server, namespace:a\$b/,
    ],
    [["grant", "select", "--on", "namespace:no", "--to", "group:g"], /namespace "no"/],
    [["grant", "select", "--on", "server", "--to", "g"], /a subject is key:ID/],
    [["grant", "select", "--on", "server", "--to", "key:no"], /there is no key with the id "no"/],
  ])("%j fails with one sentence", async (args, message) => {
    const result = await run(...args);
    expect(result.code).not.toBe(0);
    expect(result.err).toMatch(message);
    expect(result.err.trimEnd()).not.toContain("\n");
  });
});
