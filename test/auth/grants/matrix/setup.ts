/** The server, the objects and the callers of the matrix. */
import { afterAll, beforeAll } from "vitest";
import { tableObject } from "../../../../src/catalog/grants/grants.js";
import { items } from "../../../harness/arrow.js";
import type { Client } from "../../../harness/client.js";
import { IdentityProvider } from "../../../harness/identity-provider.js";
import { waitForJobResult } from "../../../harness/jobs.js";
import { setupServer } from "../../../harness/setup-server.js";
import { setupGrants, type TestGrants } from "../grant-callers.js";
import { type ActiveCaller, activate, callers, objects, ROLE_GROUP } from "./callers.js";
import type { Fresh, Names } from "./case.js";

const path = (...id: string[]) => `/v1/table/${encodeURIComponent(id.join("$"))}`;

export class Matrix {
  callers: readonly ActiveCaller[] = [];
  #fixture = { job: "", transaction: "", location: "" };
  #number = 0;

  constructor(
    private readonly server: { readonly client: Client },
    private readonly grants: TestGrants,
    private readonly provider: IdentityProvider,
  ) {}

  get admin(): Client {
    return this.server.client;
  }

  async build(): Promise<void> {
    const { admin, grants, provider } = this;
    const { space, table, scratch, view, neighbor, elsewhere } = objects;
    for (const one of [space, elsewhere[0]]) await admin.createNamespace(one);
    for (const id of [[space, table], [space, scratch], [space, neighbor], elsewhere]) {
      await admin.createTable(id.join("$"), items(3));
    }
    const job = await this.#index(space, table);
    const at = path(space, table);
    const { transaction_id: transaction } = await admin.ok(`${at}/tags/create`, {
      tag: "first",
      version: 1,
    });
    await admin.ok(`${at}/branches/create`, { name: "dev" });
    const added = { new_columns: [{ name: "of_branch", expression: "1" }], branch: "dev" };
    await admin.ok(`${at}/add_columns`, added);
    const { location } = await admin.ok(`${at}/describe`);
    this.#fixture = { job, transaction, location };
    await this.#view(view);
    this.callers = await Promise.all(
      callers.map((caller, number) => activate(caller, number, { grants, admin, provider })),
    );
  }

  /** The names for requests of these callers: with a fresh object, on which they have their grants on tables. */
  async names(fresh?: Fresh, users: readonly ActiveCaller[] = []): Promise<Names> {
    this.#number += 1;
    const n = this.#number;
    const { space, table, scratch, view } = objects;
    const name = `fresh${n}`;
    const names = { space, table, scratch, view, n, fresh: name, ...this.#fixture };
    const { admin } = this;
    const at = path(space, table);
    switch (fresh) {
      case undefined:
        return names;
      case "table":
      case "indexed table": {
        await admin.createTable(`${space}$${name}`, items(2));
        if (fresh === "indexed table") await this.#index(space, name);
        await this.#grantOn(space, name, users);
        return { ...names, table: name };
      }
      case "view":
        await this.#view(name);
        await this.#grantOn(space, name, users);
        return { ...names, view: name };
      case "namespace":
        await admin.createNamespace(`${space}$${name}`);
        return names;
      case "tag":
        await admin.ok(`${at}/tags/create`, { tag: name, version: 1 });
        return names;
      case "branch":
        await admin.ok(`${at}/branches/create`, { name });
        return names;
      case "grant":
        await this.grants.grants.grant(`group:${name}`, tableObject([space, table]), ["select"]);
        return names;
      case "upload":
        return { ...names, fresh: await this.#upload(table) };
      case "replacing upload":
        await admin.createTable(`${space}$${name}`, items(2));
        await this.#grantOn(space, name, users);
        return { ...names, table: name, fresh: await this.#upload(name, { mode: "overwrite" }) };
    }
  }

  /** Whether a fresh object still exists. Undefined: only the next admitted request shows it. */
  async exists(fresh: Fresh | undefined, names: Names): Promise<boolean | undefined> {
    const { space, table, view } = names;
    const ok = async (at: string) => (await this.admin.post(at)).status === 200;
    switch (fresh) {
      case "table":
      case "indexed table":
        return ok(`${path(space, table)}/exists`);
      case "view":
        return ok(`${path(space, view)}/exists`);
      case "namespace":
        return ok(`/v1/namespace/${space}%24${names.fresh}/exists`);
      default:
        return undefined;
    }
  }

  async #upload(table: string, mode: Record<string, string> = {}): Promise<string> {
    const { admin } = this;
    const { upload_id } = await admin.ok(`${path(objects.space, table)}/multipart_write/create`);
    await admin.insert(`${objects.space}$${table}`, items(1), { upload_id, ...mode });
    return upload_id;
  }

  async #grantOn(space: string, name: string, users: readonly ActiveCaller[]): Promise<void> {
    for (const { level, subject, privileges } of users) {
      if (level === "table") {
        await this.grants.grants.grant(subject, tableObject([space, name]), privileges);
      }
    }
  }

  async #index(space: string, name: string): Promise<string> {
    const body = { column: "id", index_type: "BTREE" };
    const built = await this.admin.ok(`${path(space, name)}/create_index`, body);
    await waitForJobResult(this.admin, built.transaction_id);
    return built.transaction_id;
  }

  async #view(name: string): Promise<void> {
    const { space, table } = objects;
    const query = `SELECT id FROM "${space}$${table}"`;
    const at = `/v1/materialized_view/${space}%24${name}/create`;
    const { job_id } = await this.admin.ok(at, { query });
    await waitForJobResult(this.admin, job_id);
  }
}

export async function setupMatrix(): Promise<Matrix> {
  const provider = await IdentityProvider.start();
  const joust = setupServer({
    args: [
      ...["--oidc-issuer", provider.issuer, "--oidc-audience", "joust"],
      ...["--oidc-roles", `${ROLE_GROUP}=write`],
    ],
  });
  const matrix = new Matrix(joust, setupGrants(joust), provider);
  beforeAll(() => matrix.build());
  afterAll(() => provider.stop());
  return matrix;
}
