/** The operations of histories, each on its own object, and the sequential models of the objects. */
import { items } from "../../harness/arrow.js";
import type { Answer, Client } from "../../harness/client.js";
import type { Model } from "./checker.js";
import type { Random } from "./random.js";

/** The output of an operation as plain JSON. */
export type Output = string | number | null | readonly (string | number)[];

/** A model with any state type. */
export type AnyModel = Model<unknown, unknown, Output>;

/** One request and its outputs for the objects it concerns. */
export interface Step {
  send(client: Client): Promise<Answer>;
  readonly about: readonly About[];
}

export interface About {
  readonly object: string;
  readonly input: unknown;
  /** The output in the response; undefined if the response does not determine the outcome. */
  read(answer: Answer): Output | undefined;
}

/** A kind of object. */
export interface Subject {
  readonly name: string;
  readonly model: AnyModel;
  /** Its objects in one history. */
  objects(history: string): readonly string[];
  /** Creates what all histories share. */
  prepare(client: Client): Promise<void>;
  step(random: Random, history: string): Step;
}

const model = <State, Input>(
  initial: State,
  outcomes: Model<State, Input, Output>["outcomes"],
): AnyModel => ({ initial, outcomes }) as AnyModel;

/** The error code of a response; undefined for success. */
const codeOf = ({ status, json }: Answer): number | undefined =>
  status < 300 ? undefined : json.code;

/** A word for the error code, or the output of a success. With any other code the change may have happened. */
const reads =
  (words: Readonly<Record<number, string>>, success: (answer: Answer) => Output = () => "ok") =>
  (answer: Answer): Output | undefined => {
    const code = codeOf(answer);
    return code === undefined ? success(answer) : words[code];
  };

/** Concurrent modification: nothing was changed, and the client may retry. */
const REFUSED = { 14: "refused" };

/** One request about one object. */
const step = (object: string, input: unknown, send: Step["send"], read: About["read"]): Step => ({
  send,
  about: [{ object, input, read }],
});

/** Versions of the table that tags and branches refer to; version n has n rows. */
const VERSIONS = 4;

const versioned = (id: string) => async (client: Client) => {
  await client.createTable(id, items(1));
  for (let from = 1; from < VERSIONS; from++) await client.insert(id, items(1, { from }));
};

type TagInput = { create: number } | { update: number } | "delete" | "get";

/** State: the version of the tag. */
const tagModel = model<number | null, TagInput>(null, (version, input) => {
  if (input === "get") return [[version, version]];
  if (input === "delete") {
    return version === null ? [["missing", null]] : [["ok", null]];
  }
  if ("create" in input) {
    return version === null ? [["ok", input.create]] : [["exists", version]];
  }
  return version === null ? [["missing", null]] : [["ok", input.update]];
});

const tags: Subject = {
  name: "tag",
  model: tagModel,
  objects: (history) => [`${history}-a`, `${history}-b`],
  prepare: versioned("tagged"),
  step(random, history) {
    const post = (operation: string, body?: object) => (client: Client) =>
      client.post(`/v1/table/tagged/tags/${operation}`, body);
    const tag = random.of(this.objects(history));
    const version = random.upTo(VERSIONS);
    const words = { 8: "missing", 9: "exists" };
    switch (random.of(["create", "update", "update", "delete", "get", "get", "list", "describe"])) {
      case "create":
        return step(tag, { create: version }, post("create", { tag, version }), reads(words));
      case "update":
        return step(tag, { update: version }, post("update", { tag, version }), reads(words));
      case "delete":
        return step(tag, "delete", post("delete", { tag }), reads(words));
      case "get":
        return step(tag, "get", post("version", { tag }), (answer) =>
          codeOf(answer) === 8 ? null : reads({}, ({ json }) => json.version)(answer),
        );
      case "describe":
        return step(
          tag,
          "get",
          (client) => client.post("/v1/table/tagged/describe", { tag }),
          (answer) => (codeOf(answer) === 8 ? null : reads({}, ({ json }) => json.version)(answer)),
        );
      default:
        // Each tag of a listing counts as a separate read.
        return {
          send: post("list"),
          about: this.objects(history).map((object) => ({
            object,
            input: "get",
            read: reads({}, ({ json }) => json.tags[object]?.version ?? null),
          })),
        };
    }
  },
};

type BranchInput = { create: number } | "delete" | "get";

/** State: the parent version of the branch, which determines its rows. */
const branchModel = model<number | null, BranchInput>(null, (version, input) => {
  if (input === "get") return [[version, version]];
  if (input === "delete") {
    return version === null ? [["missing", null]] : [["ok", null]];
  }
  return version === null ? [["ok", input.create]] : [["exists", version]];
});

const branches: Subject = {
  name: "branch",
  model: branchModel,
  objects: (history) => [`${history}-a`, `${history}/b`],
  prepare: versioned("branched"),
  step(random, history) {
    const post = (operation: string, body?: object) => (client: Client) =>
      client.post(`/v1/table/branched/${operation}`, body);
    const name = random.of(this.objects(history));
    const from_version = random.upTo(VERSIONS);
    const words = { ...REFUSED, 22: "missing", 23: "exists" };
    switch (random.of(["create", "create", "delete", "count", "list"])) {
      case "create": {
        const send = post("branches/create", { name, from_version });
        return step(name, { create: from_version }, send, reads(words));
      }
      case "delete":
        return step(name, "delete", post("branches/delete", { name }), reads(words));
      case "count":
        return step(name, "get", post("count_rows", { branch: name }), (answer) =>
          codeOf(answer) === 22 ? null : reads({}, ({ json }) => json)(answer),
        );
      default:
        return {
          send: post("branches/list"),
          about: this.objects(history).map((object) => ({
            object,
            input: "get",
            read: reads({}, ({ json }) => json.branches[object]?.parentVersion ?? null),
          })),
        };
    }
  },
};

type MetadataInput = { set: string } | "get";

/** State: all metadata. A change replaces it. */
const metadataModel = model<string, MetadataInput>("{}", (metadata, input) =>
  input === "get"
    ? [[metadata, metadata]]
    : [
        ["ok", input.set],
        ["refused", metadata],
      ],
);

const metadata: Subject = {
  name: "metadata of a table",
  model: metadataModel,
  objects: (history) => [`metadata-${history}`],
  async prepare() {},
  step(random, history) {
    const [id] = this.objects(history);
    if (random.of([true, false])) {
      const describe = (client: Client) => client.post(`/v1/table/${id}/describe`);
      const read = reads({}, ({ json }) => JSON.stringify(json.schema.metadata ?? {}));
      return step(`${id}`, "get", describe, read);
    }
    // The keys differ too: one read must not contain both changes.
    const value = { [random.of(["a", "b"])]: `${random.upTo(1_000_000)}` };
    const set = (client: Client) => client.post(`/v1/table/${id}/schema_metadata/update`, value);
    return step(`${id}`, { set: JSON.stringify(value) }, set, reads(REFUSED));
  },
};

type NamespaceInput =
  | { create: string }
  | { overwrite: string }
  | { keep: string }
  | "drop"
  | "get";

/** State: the namespace's property. */
const namespaceModel = model<string | null, NamespaceInput>(null, (value, input) => {
  if (input === "get") return [[value, value]];
  if (input === "drop") return value === null ? [["missing", null]] : [["ok", null]];
  if ("overwrite" in input) return [["ok", input.overwrite]];
  if ("keep" in input) return value === null ? [[input.keep, input.keep]] : [[value, value]];
  return value === null ? [["ok", input.create]] : [["exists", value]];
});

const namespaces: Subject = {
  name: "properties of a namespace",
  // A change that loses against a concurrent one may be rejected.
  model: {
    initial: null,
    outcomes: (state, input) => [
      ...namespaceModel.outcomes(state, input),
      ...(input === "get" ? [] : ([["refused", state]] as const)),
    ],
  },
  objects: (history) => [`ns-${history}`],
  async prepare() {},
  step(random, history) {
    const [name] = this.objects(history) as [string];
    const post = (operation: string, body: object) => (client: Client) =>
      client.post(`/v1/namespace/${name}/${operation}`, body);
    const value = `${random.upTo(1_000_000)}`;
    const words = { ...REFUSED, 1: "missing", 2: "exists" };
    const create = (mode: string) => post("create", { mode, properties: { value } });
    switch (random.of(["create", "overwrite", "keep", "drop", "get", "get"])) {
      case "create":
        return step(name, { create: value }, create("Create"), reads(words));
      case "overwrite":
        return step(name, { overwrite: value }, create("Overwrite"), reads(words));
      case "keep": {
        const read = reads(words, ({ json }) => json.properties.value);
        return step(name, { keep: value }, create("ExistOk"), read);
      }
      case "drop":
        return step(name, "drop", post("drop", {}), reads(words));
      default:
        return step(name, "get", post("describe", {}), (answer) =>
          codeOf(answer) === 1 ? null : reads({}, ({ json }) => json.properties.value)(answer),
        );
    }
  },
};

/** `joins`: rows of an unread version may come from several inserts. */
type VersionState = readonly [version: number, joins: 0 | 1];

/** State: the latest version of a table that only receives inserts, which may share a commit. */
const versionModel = model<VersionState, "insert" | "get">([1, 0], ([version, joins], input) => {
  if (input === "get") return [[version, [version, 0]]];
  const own: readonly [Output, VersionState] = [version + 1, [version + 1, 1]];
  return joins ? [own, [version, [version, 1]]] : [own];
});

const versions: Subject = {
  name: "newest version",
  model: versionModel,
  objects: (history) => [`versions-${history}`],
  async prepare() {},
  step(random, history) {
    const [id] = this.objects(history) as [string];
    const read = reads({}, ({ json }) => json.version);
    switch (random.of(["insert", "describe", "version"])) {
      case "insert":
        return step(
          id,
          "insert",
          (client) => client.post(`/v1/table/${id}/insert`, items(1)),
          read,
        );
      case "describe":
        return step(id, "get", (client) => client.post(`/v1/table/${id}/describe`), read);
      default: {
        const describe = (client: Client) => client.post(`/v1/table/${id}/version/describe`, {});
        return step(
          id,
          "get",
          describe,
          reads({}, ({ json }) => json.version.version),
        );
      }
    }
  },
};

/** State: the row count. */
const rowsModel = model<number, "insert" | "get">(1, (rows, input) =>
  input === "get" ? [[rows, rows]] : [["ok", rows + 1]],
);

const rows: Subject = {
  name: "rows of the newest version",
  model: rowsModel,
  objects: (history) => [`rows-${history}`],
  async prepare() {},
  step(random, history) {
    const [id] = this.objects(history) as [string];
    if (random.of([true, false])) {
      return step(
        id,
        "insert",
        (client) => client.post(`/v1/table/${id}/insert`, items(1)),
        reads({}),
      );
    }
    const count = (client: Client) => client.post(`/v1/table/${id}/count_rows`, {});
    return step(
      id,
      "get",
      count,
      reads({}, ({ json }) => json),
    );
  },
};

export const subjects: readonly Subject[] = [tags, branches, metadata, namespaces, versions, rows];
