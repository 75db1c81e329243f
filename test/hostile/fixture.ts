/** The objects that valid requests need. The requests damage them, so they are made again from time to time. */
import { cpSync } from "node:fs";
import { join } from "node:path";
import { Binary } from "apache-arrow";
import { items, stream, type } from "../harness/arrow.js";
import type { Client } from "../harness/client.js";
import { buildEachKind } from "../harness/indexes.js";
import { type Known, SPACE } from "./known.js";
import { places } from "./places.js";

const ROWS = 300;

/** Operations that change a table of their own. */
const owners = [
  ...new Set(
    places
      .filter(
        ({ operation, path }) => operation.permission !== "read" && path.includes("/table/{id}"),
      )
      .map(({ operation }) => operation.id),
  ),
];

const notMade = new Set(["CloneTable", "DeclareTable", "RegisterTable", "CreateMaterializedView"]);

export class Fixture {
  readonly known: Known = { job: "", transaction: "", location: "", manifest: "", uploads: {} };

  constructor(
    private readonly client: Client,
    private readonly root: string,
  ) {}

  /** Makes all objects. Those of an earlier call are removed. */
  async make(): Promise<void> {
    const { client } = this;
    await client.post(`/v1/namespace/${SPACE}/drop`, { behavior: "Cascade" });
    await client.ok(`/v1/namespace/${SPACE}/create`, { mode: "exist_ok" });
    const { location, transaction_id } = await client.createTable(`${SPACE}$items`, items(ROWS), {
      mode: "overwrite",
    });
    this.known.location = location;
    this.known.transaction = transaction_id;
    await buildEachKind(client, `${SPACE}$items`);
    await client.ok(`/v1/table/${SPACE}$items/tags/create`, { tag: "first", version: 1 });
    await client.ok(`/v1/table/${SPACE}$items/branches/create`, { name: "dev" });
    await client.createTable(`${SPACE}$small`, items(3), { mode: "overwrite" });
    await client.createTable(`${SPACE}$blobs`, blobs(), { mode: "overwrite" });
    cpSync(location, join(this.root, "copies", "t"), { recursive: true });
    const indexed = { column: "id", index_type: "BTREE" };
    const job = await client.ok(`/v1/table/${SPACE}$small/create_scalar_index`, indexed);
    this.known.job = job.transaction_id;
    await this.#view("view");
    for (const id of [...owners, "DropNamespace", "DropMaterializedView"]) await this.rebuild(id);
  }

  /** Makes the objects of one operation. Another request may change them meanwhile, so failures are ignored. */
  async rebuild(id: string): Promise<void> {
    const { client } = this;
    if (id === "DropNamespace") await client.post(`/v1/namespace/${SPACE}$dropped/create`, {});
    else if (id === "DropMaterializedView") await this.#view("dropped_view");
    else if (notMade.has(id)) await this.#remove(id);
    else if (owners.includes(id)) await this.#table(id);
  }

  async #view(name: string): Promise<void> {
    const body = { query: "SELECT id FROM small", with_no_data: true };
    await this.client.post(`/v1/materialized_view/${SPACE}$${name}/create`, body);
  }

  /** Operations that create an object need its name to be free. */
  async #remove(id: string): Promise<void> {
    if (id === "RegisterTable") await this.client.post(`/v1/table/${SPACE}$${id}/deregister`);
    else if (id === "CreateMaterializedView")
      await this.client.post(`/v1/materialized_view/${SPACE}$new_view/drop`);
    else await this.client.post(`/v1/table/${SPACE}$${id}/drop`);
  }

  async #table(id: string): Promise<void> {
    const { client, known } = this;
    const post = (call: string, body: object | Uint8Array, params = {}) =>
      client.post(`/v1/table/${SPACE}$${id}/${call}`, body, params);
    await post("create", items(20), { mode: "overwrite" });
    if (id === "RenameTable") await client.post(`/v1/table/${SPACE}$renamed/drop`);
    // Each of these commits a version, so only the operations that need them get them.
    if (/Tag$|Version|Restore/.test(id)) {
      await post("insert", items(5, { from: 20 }));
      await post("tags/create", { tag: "first", version: 1 });
    }
    if (/Branch$/.test(id)) await post("branches/create", { name: "dev" });
    if (/^DropTableIndex$/.test(id)) {
      await post("create_scalar_index", { column: "id", index_type: "BTREE" });
    }
    if (id === "AlterTableBackfillColumns") {
      await post("add_columns", { new_columns: [{ name: "ratio", computed: "10 / (id % 3)" }] });
    }
    if (id === "CreateTableVersion") {
      const { status, json } = await post("version/describe", { version: 2 });
      if (status === 200) known.manifest = json.version.manifest_path;
    }
    if (/^(Complete|Abort)MultipartWrite$/.test(id)) {
      const { status, json } = await post("multipart_write/create", {});
      if (status !== 200) return;
      known.uploads[id] = json.upload_id;
      await post("insert", items(2, { from: 30 }), { upload_id: json.upload_id });
    }
  }
}

function blobs(): Uint8Array {
  const values = ["hello", "", "x".repeat(1_000)].map((text) => new TextEncoder().encode(text));
  return stream({
    id: [type.i64, values.map((_, at) => BigInt(at))],
    image: [new Binary(), values],
  });
}
